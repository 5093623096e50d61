// SPDX-License-Identifier: MIT
// RIA-FT: several heads, each a learnt projection, RIA's covariance and root, and an MLP.
//
// The file is safetensors (docs/ria_ft_format.md): the network under backbone.*, and for each head
// H
//   heads.H.projection.weight [d, D], and .bias [d] if there is one
//   heads.H.mlp.0.weight [h, d(d+1)/2], .bias [h]    the only layer, or the hidden one with GELU
//   heads.H.mlp.2.weight [o, h], .bias [o]           behind a hidden one
// A head without mlp hands on its d(d+1)/2 values. The descriptor is the heads' parts one after the
// other, at length one.
#include "head/ria_ft.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "aggregate/ria_steps.h"
#include "archive/bytes.h"
#include "head/head_tensors.h"
#include "head/heads.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

constexpr char kFormat[] = "ria-ft 1";

EigenVector gelu(const EigenVector& x) {
  return x.unaryExpr(
      [](float v) { return 0.5f * v * (1 + std::erf(v * static_cast<float>(M_SQRT1_2))); });
}

struct Head {
  int first = 0;  ///< column of all heads' projections
  int d = 0;
  std::vector<LinearLayer> layers;  ///< none, one or two

  EigenVector run(const Matrix& projected, const RiaOptions& options) const {
    const Matrix own = to_matrix(as_eigen(projected).middleCols(first, d));
    EigenVector x = as_eigen(ria_vector(own, options)).cast<float>();
    for (const LinearLayer& layer : layers) {
      if (&layer != &layers.front()) x = gelu(x);
      x = times_vector(as_eigen(layer.weight), x) + as_eigen(layer.bias);
    }
    return x;
  }
  int size() const { return layers.empty() ? d * (d + 1) / 2 : layers.back().weight.rows(); }
};

class RiaFt final : public Aggregator {
 public:
  RiaFt(const RiaOptions& options, Matrix projections, std::vector<Head> heads, int dim)
      : options_(options),
        projections_(std::move(projections)),
        heads_(std::move(heads)),
        dim_(dim) {}

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const EigenVector square_sums = checked_square_sums(features, projections_.rows());
    const Matrix x = ria_project(features.patches, square_sums, projections_, options_);
    std::vector<EigenVector> parts(heads_.size());
    for_row_blocks(static_cast<Eigen::Index>(heads_.size()), 1, [&](Eigen::Index h, Eigen::Index) {
      parts[h] = heads_[h].run(x, options_);
    });
    EigenVectorD out(dim_);
    Eigen::Index end = 0;
    for (const EigenVector& part : parts) {
      out.segment(end, part.size()) = part.cast<double>();
      end += part.size();
    }
    return unit(out);
  }

 private:
  RiaOptions options_;
  Matrix projections_;  ///< D x all heads' d
  std::vector<Head> heads_;
  int dim_;
};

/// The values of a file's metadata, each needed.
class Settings {
 public:
  explicit Settings(const TensorFile& file) : file_(file) {}

  bool has(const char* key) const { return file_.metadata().count(key) != 0; }
  const std::string& text(const char* key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) {
      throw std::runtime_error(fmt::format(
          "{}: metadata {} is missing, which RIA-FT needs", file_.path().string(), key));
    }
    return found->second;
  }
  template <typename T>
  T number(const char* key) const {
    const std::string& value = text(key);
    T out{};
    const char* end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, out);
    if (parsed.ec != std::errc() || parsed.ptr != end) refuse(key, "a number");
    return out;
  }
  bool truth(const char* key) const {
    const std::string& value = text(key);
    if (value != "true" && value != "false") refuse(key, "true or false");
    return value == "true";
  }
  Facet facet() const {
    const std::string& value = text("facet");
    if (value == "token") return Facet::kToken;
    if (value == "query") return Facet::kQuery;
    if (value == "key") return Facet::kKey;
    if (value != "value") refuse("facet", "token, query, key or value");
    return Facet::kValue;
  }
  [[noreturn]] void refuse(const char* key, const char* expected) const {
    throw std::runtime_error(fmt::format("{}: metadata {} is {}, {} was expected",
                                         file_.path().string(),
                                         key,
                                         printable(text(key)),
                                         expected));
  }

 private:
  const TensorFile& file_;
};

const char* facet_name(Facet facet) {
  switch (facet) {
    case Facet::kQuery:
      return "query";
    case Facet::kKey:
      return "key";
    case Facet::kValue:
      return "value";
    case Facet::kToken:
      break;
  }
  return "token";
}

LinearLayer read_layer(const HeadTensors& tensors, const std::string& name, int inputs) {
  LinearLayer layer;
  layer.weight = tensors.matrix(name + ".weight", HeadTensors::kAny, inputs);
  layer.bias = tensors.vector(name + ".bias", layer.weight.rows());
  return layer;
}

/// All but the projection.
Head read_head(const HeadTensors& tensors, const std::string& name, int d) {
  Head head;
  head.d = d;
  const int values = tensors.dim(d, d + 1) / 2;
  // Covariances do not see the bias of a projection; one that is there must still be sound.
  if (tensors.has(name + ".projection.bias")) tensors.vector(name + ".projection.bias", d);
  if (tensors.has(name + ".mlp.0.weight")) {
    head.layers.push_back(read_layer(tensors, name + ".mlp.0", values));
  }
  const std::string second = name + ".mlp.2";
  if (tensors.has(second + ".weight")) {
    if (head.layers.empty()) tensors.refuse(second + ".weight", "has no mlp.0 before it");
    head.layers.push_back(read_layer(tensors, second, head.layers[0].weight.rows()));
  }
  return head;
}

}  // namespace

bool is_ria_ft(const TensorFile& file) {
  const auto format = file.metadata().find("format");
  return format != file.metadata().end() && format->second.starts_with("ria-ft ");
}

RiaFtSettings read_ria_ft_settings(const TensorFile& file) {
  const Settings metadata(file);
  if (metadata.text("format") != kFormat) metadata.refuse("format", kFormat);
  RiaFtSettings settings;
  settings.ria.tau = metadata.number<double>("tau");
  settings.ria.eps = metadata.number<double>("eps");
  settings.ria.iterations = metadata.number<int>("iterations");
  settings.ria.normalize_patches = metadata.truth("normalize_patches");
  settings.image_size = metadata.number<int>("image_size");
  if (metadata.has("cut")) {
    settings.backbone.cut = metadata.text("cut");
    if (settings.backbone.cut.empty()) metadata.refuse("cut", "a place in the network");
  } else {
    settings.backbone.facet = metadata.facet();
    settings.backbone.final_norm = metadata.truth("final_norm");
    settings.backbone.layer = metadata.number<int>("layer");
    if (*settings.backbone.layer < 0) metadata.refuse("layer", "0 or more");
  }
  if (settings.image_size < 0) metadata.refuse("image_size", "0 or more");
  try {
    settings.ria.validate();
  } catch (const std::invalid_argument& problem) {
    throw std::runtime_error(fmt::format("{}: metadata {}", file.path().string(), problem.what()));
  }
  return settings;
}

Metadata ria_ft_metadata(const RiaFtSettings& settings) {
  const BackboneOptions& backbone = settings.backbone;
  if (backbone.cut.empty() && (!backbone.layer || !backbone.facet)) {
    throw std::invalid_argument("a RIA-FT file says a cut, or layer and facet: they were expected");
  }
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  Metadata metadata{{"format", kFormat},
                    {"tau", fmt::format("{}", settings.ria.tau)},
                    {"eps", fmt::format("{}", settings.ria.eps)},
                    {"iterations", std::to_string(settings.ria.iterations)},
                    {"normalize_patches", truth(settings.ria.normalize_patches)},
                    {"image_size", std::to_string(settings.image_size)}};
  if (!backbone.cut.empty()) {
    metadata["cut"] = backbone.cut;
  } else {
    metadata["facet"] = facet_name(*backbone.facet);
    metadata["layer"] = std::to_string(*backbone.layer);
    metadata["final_norm"] = truth(backbone.final_norm);
  }
  return metadata;
}

std::unique_ptr<Aggregator> read_ria_ft(const TensorFile& file) {
  const RiaFtSettings settings = read_ria_ft_settings(file);
  const HeadTensors tensors(file, "RIA-FT head", {"heads.0.projection.weight"});
  std::vector<Matrix> projections;
  std::vector<Head> heads;
  int width = 0, size = 0;
  const int count = tensors.count("heads");
  for (int h = 0; h < count; ++h) {
    const std::string name = fmt::format("heads.{}", h);
    const std::int64_t dim = projections.empty() ? HeadTensors::kAny : projections[0].cols();
    projections.push_back(tensors.matrix(name + ".projection.weight", HeadTensors::kAny, dim));
    heads.push_back(read_head(tensors, name, projections.back().rows()));
    heads.back().first = width;
    width += heads.back().d;
    size = tensors.dim(1, std::int64_t{size} + heads.back().size());
  }
  Matrix all(projections[0].cols(), width);
  for (int h = 0; h < count; ++h) {
    as_eigen(all).middleCols(heads[h].first, heads[h].d) = as_eigen(projections[h]).transpose();
  }
  return std::make_unique<RiaFt>(settings.ria, std::move(all), std::move(heads), size);
}

}  // namespace ria
