// SPDX-License-Identifier: MIT
#include "backbone/resnet.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "weights/architecture.h"

namespace ria {

namespace {

class Builder {
 public:
  explicit Builder(const TensorFile& file) : file_(file), names_(canonical_resnet_names(file)) {
    const Metadata& metadata = file.metadata();
    if (const auto it = metadata.find("bn_eps"); it != metadata.end()) eps_ = std::stod(it->second);
    if (const auto it = metadata.find("stride"); it != metadata.end())
      stride_first_ = it->second == "first";
    if (names_.empty()) throw std::runtime_error(file.path().string() + " holds no ResNet");
  }

  ResNetPlan build(int stages) {
    ResNetPlan plan;
    add(fold("conv1", "bn1", 2, 3), 0, -1, true);
    ConvStep pool;
    pool.kind = ConvStep::Kind::kMaxPool;
    pool.input = tensor_;
    pool.kernel = 3;
    pool.stride = 2;
    pool.pad = 1;
    steps_.push_back(std::move(pool));
    tensor_ = static_cast<int>(steps_.size());
    plan.stage_tensors.push_back(tensor_);
    for (int stage = 2; stage <= stages; ++stage) {
      const std::string layer = fmt::format("layer{}", stage - 1);
      for (int block = 0; has(fmt::format("{}.{}.conv1.weight", layer, block)); ++block) {
        add_block(fmt::format("{}.{}.", layer, block), block == 0 && stage > 2 ? 2 : 1);
      }
      if (tensor_ == plan.stage_tensors.back()) {
        throw std::runtime_error(fmt::format("{} has no stage {}", file_.path().string(), stage));
      }
      plan.stage_tensors.push_back(tensor_);
    }
    plan.steps = std::move(steps_);
    return plan;
  }

 private:
  bool has(const std::string& name) const { return names_.count(name) != 0; }

  std::vector<float> values(const std::string& name, std::int64_t expected) const {
    const auto it = names_.find(name);
    if (it == names_.end())
      throw std::runtime_error(fmt::format("{}: {} is missing", file_.path().string(), name));
    std::vector<float> result = file_.at(it->second).floats();
    if (static_cast<std::int64_t>(result.size()) != expected) {
      throw std::runtime_error(fmt::format("{}: {} has {} values, {} were expected",
                                           file_.path().string(),
                                           name,
                                           result.size(),
                                           expected));
    }
    return result;
  }

  /// Convolution and batch norm as one: w' = w g / sqrt(var + eps), b' = beta - mean g / sqrt(var +
  /// eps).
  Convolution fold(const std::string& conv, const std::string& norm, int stride, int pad) const {
    const auto it = names_.find(conv + ".weight");
    if (it == names_.end()) {
      throw std::runtime_error(
          fmt::format("{}: {}.weight is missing", file_.path().string(), conv));
    }
    const Tensor& tensor = file_.at(it->second);
    if (tensor.shape.size() != 4 || tensor.shape[2] != tensor.shape[3] || tensor.size() == 0) {
      throw std::runtime_error(
          fmt::format("{}: {}.weight is not a square convolution", file_.path().string(), conv));
    }
    Convolution result;
    result.out = static_cast<int>(tensor.shape[0]);
    result.in = static_cast<int>(tensor.shape[1]);
    result.kernel = static_cast<int>(tensor.shape[2]);
    result.stride = stride;
    result.pad = pad;
    result.weight = tensor.floats();
    result.bias.resize(result.out);
    const auto gamma = values(norm + ".weight", result.out),
               beta = values(norm + ".bias", result.out);
    const auto mean = values(norm + ".running_mean", result.out);
    const auto variance = values(norm + ".running_var", result.out);
    const std::size_t fan_in = result.weight.size() / result.out;
    for (int o = 0; o < result.out; ++o) {
      const double scale = gamma[o] / std::sqrt(variance[o] + eps_);
      for (std::size_t i = 0; i < fan_in; ++i) {
        float& w = result.weight[o * fan_in + i];
        w = static_cast<float>(w * scale);
      }
      result.bias[o] = static_cast<float>(beta[o] - mean[o] * scale);
    }
    return result;
  }

  void add(Convolution convolution, int input, int residual, bool relu) {
    ConvStep step;
    step.input = input;
    step.residual = residual;
    step.relu = relu;
    step.convolution = std::move(convolution);
    steps_.push_back(std::move(step));
    tensor_ = static_cast<int>(steps_.size());
  }

  /// A residual block: the shortcut first, so that the last convolution can add to it in place.
  void add_block(const std::string& name, int stride) {
    const int input = tensor_;
    const bool bottleneck = has(name + "conv3.weight");
    int shortcut = input;
    if (has(name + "downsample.0.weight")) {
      add(fold(name + "downsample.0", name + "downsample.1", stride, 0), input, -1, false);
      shortcut = tensor_;
    } else if (stride != 1) {
      throw std::runtime_error(
          fmt::format("{}: {}downsample is missing", file_.path().string(), name));
    }
    const int first = !bottleneck || stride_first_ ? stride : 1;
    add(fold(name + "conv1", name + "bn1", first, bottleneck ? 0 : 1), input, -1, true);
    add(fold(name + "conv2", name + "bn2", stride / first, 1),
        tensor_,
        bottleneck ? -1 : shortcut,
        true);
    if (bottleneck) add(fold(name + "conv3", name + "bn3", 1, 0), tensor_, shortcut, true);
  }

  const TensorFile& file_;
  std::map<std::string, std::string> names_;
  double eps_ = 1e-5;
  bool stride_first_ = false;
  std::vector<ConvStep> steps_;
  int tensor_ = 0;
};

}  // namespace

ResNetPlan plan_resnet(const TensorFile& file, int stages) { return Builder(file).build(stages); }

}  // namespace ria
