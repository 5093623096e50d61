// SPDX-License-Identifier: MIT
// The heads that are generalised mean pooling with a learnt exponent: CosPlace and EigenPlaces with
// a linear layer behind it, SelaVPR's global descriptor without.
#include <fmt/format.h>

#include <stdexcept>

#include "head/head_tensors.h"
#include "head/heads.h"
#include "weights/vit_names.h"

namespace ria {

namespace {

constexpr char kExponent[] = "aggregation.1.p";

/// Both clamp at 1e-6 behind the norm over channels, which are GemOptions' defaults.
GemOptions gem_options(const HeadTensors& head) {
  GemOptions options;
  options.p = head.scalar(kExponent);
  if (!(options.p > 0)) {
    head.refuse(kExponent, fmt::format("is {}, a number above 0 was expected", options.p));
  }
  return options;
}

}  // namespace

std::unique_ptr<Aggregator> read_cosplace(const TensorFile& file) {
  const HeadTensors head(file, "CosPlace head", {kExponent, "aggregation.3.weight"});
  LinearLayer layer;
  layer.weight = head.matrix("aggregation.3.weight");
  layer.bias = head.vector("aggregation.3.bias", layer.weight.rows());
  return make_gem(layer.weight.cols(), gem_options(head), layer);
}

std::unique_ptr<Aggregator> read_selavpr(const TensorFile& file) {
  const HeadTensors head(file, "SelaVPR head", {kExponent});
  // The exponent does not say how wide the features are; the network beside it does.
  const auto network = canonical_vit_names(file);
  if (network.empty()) {
    throw std::runtime_error(fmt::format(
        "{} holds no SelaVPR: a DINOv2 beside {} was expected", file.path().string(), kExponent));
  }
  return make_gem(vit_shape(file, network).dim, gem_options(head));
}

}  // namespace ria
