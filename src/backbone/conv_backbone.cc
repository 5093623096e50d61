// SPDX-License-Identifier: MIT
#include "backbone/conv_backbone.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace ria {

namespace {

/// The three numbers of a text, with blanks between them.
std::array<float, 3> parse_mean(const TensorFile& file) {
  const auto it = file.metadata().find("mean");
  std::istringstream text(it != file.metadata().end() ? it->second : "");
  text.imbue(std::locale::classic());
  std::array<float, 3> mean{};
  for (float& value : mean) text >> value;
  if (!text || !(text >> std::ws).eof()) {
    throw std::runtime_error(
        fmt::format("{}: the mean of its training pictures, three numbers, was expected",
                    file.path().string()));
  }
  return mean;
}

}  // namespace

Preprocessing conv_preprocessing(const TensorFile& file) {
  Preprocessing preprocessing;
  preprocessing.longest_side = 480;
  preprocessing.min_side = 32;  // two cells of stride 16: a sliver of a picture still has a grid
  const auto it = file.metadata().find("normalization");
  const std::string name = it != file.metadata().end() ? it->second : "";
  if (name == "caffe") {
    preprocessing.normalization = Normalization::kCaffe;
  } else if (name == "minus_mean") {
    preprocessing.normalization = Normalization::kMinusMean;
    preprocessing.mean = parse_mean(file);
  }
  return preprocessing;
}

namespace {

class ConvBackbone final : public Backbone {
 public:
  ConvBackbone(const BackboneWeights& weights, ConvPlan plan, const BackboneOptions& options)
      : name_(weights.name),
        sha256_(weights.sha256),
        net_(std::move(plan.steps), {plan.output}, options.precision),
        dim_(net_.channels(plan.output)),
        reading_(std::move(plan.reading)),
        preprocessing_(conv_preprocessing(weights.file)) {}

  std::string name() const override { return name_; }
  int dim() const override { return dim_; }
  Preprocessing preprocessing() const override { return preprocessing_; }
  std::string weights_sha256() const override { return sha256_; }
  double flops(int height, int width) const override { return net_.flops(height, width); }
  Matrix reading() const override { return reading_; }

  PatchFeatures extract(const Pixels& pixels) const override {
    PatchFeatures features;
    net_.run(pixels, [&](int height, int width, int channels) {
      features.grid_height = height;
      features.grid_width = width;
      features.patches.resize(height * width, channels);
      return features.patches.data();
    });
    return features;
  }

 private:
  std::string name_;
  std::string sha256_;
  ConvNet net_;
  int dim_;
  Matrix reading_;
  Preprocessing preprocessing_;
};

}  // namespace

ConvBuilder::ConvBuilder(const TensorFile& file,
                         std::map<std::string, std::string> names,
                         double bn_eps)
    : file_(file), path_(file.path().string()), names_(std::move(names)), eps_(bn_eps) {
  const Metadata& metadata = file.metadata();
  if (const auto it = metadata.find("bn_eps"); it != metadata.end()) eps_ = std::stod(it->second);
}

std::vector<float> ConvBuilder::values(const std::string& name, std::int64_t expected) const {
  const auto it = names_.find(name);
  if (it == names_.end()) throw std::runtime_error(fmt::format("{}: {} is missing", path_, name));
  std::vector<float> result = file_.at(it->second).floats();
  if (static_cast<std::int64_t>(result.size()) != expected) {
    throw std::runtime_error(fmt::format(
        "{}: {} has {} values, {} were expected", path_, name, result.size(), expected));
  }
  return result;
}

Convolution ConvBuilder::read(const std::string& conv,
                              const std::string& norm,
                              int stride,
                              int pad) const {
  const auto it = names_.find(conv + ".weight");
  if (it == names_.end()) {
    throw std::runtime_error(fmt::format("{}: {}.weight is missing", path_, conv));
  }
  const Tensor& tensor = file_.at(it->second);
  if (tensor.shape.size() != 4 || tensor.shape[2] != tensor.shape[3] || tensor.size() == 0) {
    throw std::runtime_error(fmt::format("{}: {}.weight is not a square convolution", path_, conv));
  }
  Convolution result;
  result.name = conv;
  result.norm = norm;
  result.out = static_cast<int>(tensor.shape[0]);
  result.in = static_cast<int>(tensor.shape[1]);
  result.kernel = static_cast<int>(tensor.shape[2]);
  result.stride = stride;
  result.pad = pad;
  result.weight = tensor.floats();
  if (has(conv + ".bias")) {
    result.bias = values(conv + ".bias", result.out);
  } else {
    result.bias.resize(result.out);
  }
  if (!norm.empty()) fold(result, norm);
  return result;
}

Matrix ConvBuilder::reading(const std::string& conv, const std::string& norm) const {
  const Convolution layer = read(conv, norm, 1, 0);
  const int taps = layer.kernel * layer.kernel;
  Matrix rows(layer.out * taps, layer.in);
  for (int o = 0; o < layer.out; ++o) {
    for (int i = 0; i < layer.in; ++i) {
      for (int t = 0; t < taps; ++t) {
        rows(o * taps + t, i) =
            layer.weight[(static_cast<std::size_t>(o) * layer.in + i) * taps + t];
      }
    }
  }
  return rows;
}

/// w' = w g / sqrt(var + eps), b' = beta + (b - mean) g / sqrt(var + eps).
void ConvBuilder::fold(Convolution& convolution, const std::string& norm) const {
  const auto gamma = values(norm + ".weight", convolution.out),
             beta = values(norm + ".bias", convolution.out);
  const auto mean = values(norm + ".running_mean", convolution.out);
  const auto variance = values(norm + ".running_var", convolution.out);
  const std::size_t fan_in = convolution.weight.size() / convolution.out;
  for (int o = 0; o < convolution.out; ++o) {
    const double scale = gamma[o] / std::sqrt(variance[o] + eps_);
    for (std::size_t i = 0; i < fan_in; ++i) {
      float& w = convolution.weight[o * fan_in + i];
      w = static_cast<float>(w * scale);
    }
    const double shift = static_cast<double>(convolution.bias[o]) - mean[o];
    convolution.bias[o] = static_cast<float>(beta[o] + shift * scale);
  }
}

void ConvBuilder::add(Convolution convolution, int input, int residual, bool relu) {
  ConvStep step;
  step.input = input;
  step.residual = residual;
  step.relu = relu;
  step.convolution = std::move(convolution);
  steps_.push_back(std::move(step));
}

void ConvBuilder::add_max_pool(int kernel, int stride, int pad) {
  ConvStep pool;
  pool.kind = ConvStep::Kind::kMaxPool;
  pool.input = last();
  pool.kernel = kernel;
  pool.stride = stride;
  pool.pad = pad;
  steps_.push_back(std::move(pool));
}

std::unique_ptr<Backbone> make_conv_backbone(const BackboneWeights& weights,
                                             ConvPlan plan,
                                             const BackboneOptions& options) {
  return std::make_unique<ConvBackbone>(weights, std::move(plan), options);
}

void refuse_cut(const std::string& cut, const TensorFile& file, const std::string& possible) {
  throw std::invalid_argument(
      fmt::format("cut is '{}', for {} {} was expected", cut, file.path().string(), possible));
}

}  // namespace ria
