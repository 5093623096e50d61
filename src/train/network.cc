// SPDX-License-Identifier: MIT
#include "train/network.h"

#include <fmt/format.h>

#include <stdexcept>

#include "aggregate/projection.h"
#include "head/head_tensors.h"
#include "ria/aggregator.h"
#include "ria/eigen.h"
#include "tensor/safetensors.h"
#include "train/trunk_parts.h"
#include "util/hash.h"
#include "weights/vit_names.h"

namespace ria {

namespace {

NamedTensor named(const std::string& name, const Matrix& matrix) {
  return {name, {matrix.rows(), matrix.cols()}, {matrix.values().begin(), matrix.values().end()}};
}

NamedTensor zeros(const std::string& name, std::vector<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t side : shape) count *= side;
  return {name, std::move(shape), std::vector<float>(static_cast<std::size_t>(count))};
}

std::string head_name(int head) { return fmt::format("heads.{}.", head); }

/// Heads as the options say.
void add_heads(const TrainOptions& options, TrainNetwork& network) {
  const int dim = network.shape.feature_dim;
  if (options.d > dim) {
    throw std::invalid_argument(fmt::format(
        "d is {}, at most the {} channels of the features was expected", options.d, dim));
  }
  HeadShape head;
  head.d = options.d;
  head.out = options.mlp;
  head.hidden = options.mlp == 0         ? 0
                : options.mlp_hidden < 0 ? 2 * options.mlp
                                         : options.mlp_hidden;
  const std::int64_t values = std::int64_t{head.d} * (head.d + 1) / 2;
  for (int h = 0; h < options.heads; ++h) {
    network.shape.heads.push_back(head);
    const Matrix projection = random_orthogonal(dim, options.d, options.seed + h);
    network.tensors.push_back(
        named(head_name(h) + "projection.weight", to_matrix(as_eigen(projection).transpose())));
    if (head.out == 0) continue;
    const std::int64_t first = head.hidden > 0 ? head.hidden : head.out;
    network.tensors.push_back(zeros(head_name(h) + "mlp.0.weight", {first, values}));
    network.tensors.push_back(zeros(head_name(h) + "mlp.0.bias", {first}));
    if (head.hidden == 0) continue;
    network.tensors.push_back(zeros(head_name(h) + "mlp.2.weight", {head.out, first}));
    network.tensors.push_back(zeros(head_name(h) + "mlp.2.bias", {head.out}));
  }
}

/// Heads of a RIA-FT file, as they are there.
void take_heads(const TensorFile& file, TrainNetwork& network) {
  const HeadTensors tensors(file, "RIA-FT head", {"heads.0.projection.weight"});
  const int count = tensors.count("heads");
  for (int h = 0; h < count; ++h) {
    const std::string name = head_name(h);
    const Matrix projection =
        tensors.matrix(name + "projection.weight", HeadTensors::kAny, network.shape.feature_dim);
    HeadShape head;
    head.d = projection.rows();
    network.tensors.push_back(named(name + "projection.weight", projection));
    for (const char* layer : {"mlp.0", "mlp.2"}) {
      if (!tensors.has(name + layer + ".weight")) continue;
      const Matrix weight = tensors.matrix(name + layer + ".weight");
      const Vector bias = tensors.vector(name + layer + ".bias", weight.rows());
      head.hidden = head.out;
      head.out = weight.rows();
      network.tensors.push_back(named(name + layer + ".weight", weight));
      network.tensors.push_back(
          {name + layer + ".bias", {weight.rows()}, {bias.begin(), bias.end()}});
    }
    network.shape.heads.push_back(head);
  }
}

}  // namespace

Matrix FrozenPart::positions(int, int) const { return {}; }

void check_unfreeze(const TrainOptions& options, int most, const std::string& what) {
  if (options.unfreeze >= 0 && options.unfreeze <= most) return;
  throw std::invalid_argument(
      fmt::format("unfreeze is {}, 0 to {} ({}) was expected", options.unfreeze, most, what));
}

TrainNetwork make_train_network(const TrainOptions& options, bool from_pixels) {
  return make_train_network(
      open_backbone_weights(options.backbone, options.network), options, from_pixels);
}

TrainNetwork make_train_network(const BackboneWeights& weights,
                                const TrainOptions& options,
                                bool from_pixels) {
  TrainNetwork network;
  network.weights_sha256 = weights.sha256;
  network.shape.normalize_patches = network.settings.ria.normalize_patches =
      options.normalize_patches;
  network.shape.tau = network.settings.ria.tau = options.tau;
  network.shape.eps = network.settings.ria.eps = options.eps;
  network.shape.iterations = network.settings.ria.iterations = options.iterations;
  network.settings.ria.d = options.d;
  network.settings.image_size = options.eval_image_size;
  const bool conv = canonical_vit_names(weights.file).empty();
  (conv ? add_conv_trunk : add_vit_trunk)(weights, options, from_pixels, network);
  const std::size_t trunk = network.tensors.size();
  is_ria_ft(weights.file) ? take_heads(weights.file, network) : add_heads(options, network);
  for (std::size_t i = trunk; i < network.tensors.size(); ++i) {
    const std::string& name = network.tensors[i].name;
    if (options.learn_projection || name.find(".mlp.") != name.npos)
      network.trained.push_back(name);
  }
  return network;
}

std::vector<NamedTensor> linear_mlp(int head,
                                    const HeadShape& shape,
                                    const Matrix& linear,
                                    std::uint32_t seed) {
  const int values = shape.d * (shape.d + 1) / 2, out = shape.out, hidden = shape.hidden;
  if (linear.rows() != out || linear.cols() != values || out < 1) {
    throw std::invalid_argument(fmt::format(
        "a map of {} x {} for a head of {} x {}", linear.rows(), linear.cols(), out, values));
  }
  const std::string name = head_name(head);
  if (hidden == 0) {
    return {named(name + "mlp.0.weight", linear), zeros(name + "mlp.0.bias", {out})};
  }
  if (hidden < 2 * out) {
    throw std::invalid_argument(fmt::format(
        "mlp_hidden is {}, 0 or at least twice mlp ({}) was expected", hidden, 2 * out));
  }
  Matrix first(hidden, values), second(out, hidden);
  as_eigen(first).topRows(out) = as_eigen(linear);
  as_eigen(first).middleRows(out, out) = -as_eigen(linear);
  if (hidden > 2 * out) {
    as_eigen(first).bottomRows(hidden - 2 * out) =
        (standard_normal(hidden - 2 * out, values, seed) / std::sqrt(values)).cast<float>();
  }
  for (int i = 0; i < out; ++i) {
    second(i, i) = 1;
    second(i, out + i) = -1;
  }
  return {named(name + "mlp.0.weight", first),
          zeros(name + "mlp.0.bias", {hidden}),
          named(name + "mlp.2.weight", second),
          zeros(name + "mlp.2.bias", {out})};
}

namespace {

/// Of the network without its heads, so that models of one network share kept features.
std::string backbone_sha256(const TensorMap& tensors) {
  std::string all;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with("backbone.")) all += name + " " + sha256_bytes(tensor.bytes) + "\n";
  }
  return sha256_text(all);
}

}  // namespace

void write_ria_ft(const std::filesystem::path& file,
                  const TrainNetwork& network,
                  const std::vector<NamedTensor>& tensors) {
  Metadata metadata = ria_ft_metadata(network.settings);
  TensorMap out;
  if (network.shape.conv.steps.empty()) {
    for (const auto& [name, tensor] : network.source->tensors()) out["backbone." + name] = tensor;
    for (const NamedTensor& one : tensors) out[one.name] = make_tensor(one.shape, one.values);
  } else {
    out = conv_file_tensors(network, tensors);
    for (const char* key : {"stride", "bn_eps", "normalization", "mean"}) {
      const auto found = network.source->metadata().find(key);
      if (found != network.source->metadata().end()) metadata[key] = found->second;
    }
  }
  metadata["backbone_sha256"] = backbone_sha256(out);
  write_safetensors(file, out, metadata);
}

}  // namespace ria
