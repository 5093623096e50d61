// SPDX-License-Identifier: MIT
// NetVLAD as five projects publish it.
#include <fmt/format.h>

#include <stdexcept>

#include "aggregate/netvlad.h"
#include "head/head_tensors.h"
#include "head/heads.h"
#include "weights/matconvnet_vgg.h"

namespace ria {

namespace {

/// The official MATLAB file, whose layers are numbered as torchvision's are up to the last
/// convolution. The head's two layers with weights come behind it; centres are stored negated.
NetVladWeights read_matlab(const TensorFile& file, const MatconvnetHead& places, bool whiten) {
  const HeadTensors head(file, "NetVLAD head", {places.vlad + ".0", places.vlad + ".1"});
  NetVladWeights weights;
  weights.channel_major = true;
  weights.score = to_matrix(as_eigen(head.matrix(places.vlad + ".0")).transpose());
  const Matrix negated =
      head.matrix(places.vlad + ".1", weights.score.cols(), weights.score.rows());
  weights.centroids = to_matrix(-as_eigen(negated).transpose());
  const int dim = head.dim(weights.score.rows(), weights.score.cols());
  if (!whiten || places.whitening.empty()) return weights;
  weights.whitening.transposed = true;
  weights.whitening.weight = head.matrix(places.whitening + ".0", dim);
  weights.whitening.bias = head.vector(places.whitening + ".1", weights.whitening.weight.cols());
  return weights;
}

/// What a project calls the layer and the whitening behind it.
struct TorchNames {
  const char* layer;
  const char* whitening;
};
/// pytorch-NetVlad and Patch-NetVLAD first, then the benchmark and SFRS.
constexpr TorchNames kTorchNames[] = {
    {"pool", "WPCA.0"}, {"aggregation", "WPCA.0"}, {"net_vlad", "pca_layer"}};

NetVladWeights read_torch(const TensorFile& file, const TorchNames& names, bool whiten) {
  const std::string layer = names.layer, whitening = names.whitening;
  const HeadTensors head(file, "NetVLAD head", {layer + ".conv.weight", layer + ".centroids"});
  NetVladWeights weights;
  weights.score = head.matrix(layer + ".conv.weight");
  weights.centroids = head.matrix(layer + ".centroids", weights.score.rows(), weights.score.cols());
  if (head.has(layer + ".conv.bias")) {
    weights.score_bias = head.vector(layer + ".conv.bias", weights.score.rows());
  }
  const int dim = head.dim(weights.score.rows(), weights.score.cols());
  if (!whiten || !head.has(whitening + ".weight")) return weights;
  weights.whitening.weight = head.matrix(whitening + ".weight", HeadTensors::kAny, dim);
  weights.whitening.bias = head.vector(whitening + ".bias", weights.whitening.weight.rows());
  return weights;
}

}  // namespace

std::unique_ptr<Aggregator> read_netvlad(const TensorFile& file, bool whiten) {
  if (const auto places = matconvnet_head(file)) {
    return make_netvlad(read_matlab(file, *places, whiten));
  }
  for (const TorchNames& names : kTorchNames) {
    const std::string layer = names.layer;
    if (HeadTensors::holds(file, {layer + ".conv.weight", layer + ".centroids"})) {
      return make_netvlad(read_torch(file, names, whiten));
    }
  }
  return make_netvlad(read_torch(file, kTorchNames[0], whiten));  // which says what is missing
}

}  // namespace ria
