// SPDX-License-Identifier: MIT
// NetVLAD as four projects publish it.
#include <fmt/format.h>

#include <stdexcept>

#include "aggregate/head_tensors.h"
#include "aggregate/heads.h"
#include "aggregate/netvlad.h"
#include "weights/matconvnet_vgg.h"

namespace ria {

namespace {

/// The official MATLAB file, whose layers are numbered as torchvision's are up to the last
/// convolution. The head's two layers with weights come behind it; centres are stored negated.
NetVladWeights read_matlab(const TensorFile& file, const MatconvnetHead& places, bool whiten) {
  const HeadTensors head(file, "NetVLAD head", {places.vlad + ".0", places.vlad + ".1"});
  NetVladWeights weights;
  weights.channel_major = true;
  weights.score = head.matrix(places.vlad + ".0").transpose();
  weights.centroids =
      -head.matrix(places.vlad + ".1", weights.score.cols(), weights.score.rows()).transpose();
  const int dim = head.dim(weights.score.rows(), weights.score.cols());
  if (!whiten || places.whitening.empty()) return weights;
  weights.whitening.transposed = true;
  weights.whitening.weight = head.matrix(places.whitening + ".0", dim);
  weights.whitening.bias = head.vector(places.whitening + ".1", weights.whitening.weight.cols());
  return weights;
}

/// pytorch-NetVlad and Patch-NetVLAD call the layer "pool", the benchmark calls it "aggregation".
NetVladWeights read_torch(const TensorFile& file, const std::string& layer, bool whiten) {
  const HeadTensors head(file, "NetVLAD head", {layer + ".conv.weight", layer + ".centroids"});
  NetVladWeights weights;
  weights.score = head.matrix(layer + ".conv.weight");
  weights.centroids = head.matrix(layer + ".centroids", weights.score.rows(), weights.score.cols());
  if (head.has(layer + ".conv.bias")) {
    weights.score_bias = head.vector(layer + ".conv.bias", weights.score.rows());
  }
  const int dim = head.dim(weights.score.rows(), weights.score.cols());
  if (!whiten || !head.has("WPCA.0.weight")) return weights;
  weights.whitening.weight = head.matrix("WPCA.0.weight", HeadTensors::kAny, dim);
  weights.whitening.bias = head.vector("WPCA.0.bias", weights.whitening.weight.rows());
  return weights;
}

}  // namespace

std::unique_ptr<Aggregator> read_netvlad(const TensorFile& file, bool whiten) {
  if (const auto places = matconvnet_head(file)) {
    return make_netvlad(read_matlab(file, *places, whiten));
  }
  const std::string layer =
      HeadTensors::holds(file, {"aggregation.conv.weight", "aggregation.centroids"}) ? "aggregation"
                                                                                     : "pool";
  return make_netvlad(read_torch(file, layer, whiten));
}

}  // namespace ria
