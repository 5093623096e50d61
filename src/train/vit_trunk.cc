// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "backbone/vit.h"
#include "train/trunk_parts.h"
#include "weights/vit_names.h"

namespace ria {

namespace {

class FrozenBlocks final : public FrozenPart {
 public:
  FrozenBlocks(const TensorFile& file, const VitOutput& output)
      : vit_(file, output, Precision::kFp32) {}

  EntryValues run(const Pixels& pixels) const override {
    const Matrix tokens = vit_.tokens(pixels);
    return {vit_.grid(pixels.height),
            vit_.grid(pixels.width),
            tokens.cols(),
            {tokens.values().begin(), tokens.values().end()}};
  }

 private:
  Vit vit_;
};

/// Nothing is in front of the entry; LibTorch is told where tokens start.
class FromPixels final : public FrozenPart {
 public:
  FromPixels(const TensorFile& file, VitOutput output) : vit_(file, output, Precision::kFp32) {}

  EntryValues run(const Pixels& pixels) const override {
    return {pixels.height, pixels.width, 3, pixels.chw};
  }
  Matrix positions(int height, int width) const override {
    return *vit_.start(vit_.grid(height), vit_.grid(width));
  }

 private:
  Vit vit_;
};

/// Rows of queries, keys and values that a file keeps apart, as one tensor.
Tensor joined_qkv(const TensorMap& tensors,
                  const std::string& attention,
                  const char* kind,
                  int dim) {
  const bool weight = std::strcmp(kind, ".weight") == 0;
  std::vector<float> values;
  for (const char* part : {"q", "k", "v"}) {
    const auto found = tensors.find(attention + part + kind);
    const std::size_t size = static_cast<std::size_t>(dim) * (weight ? dim : 1);
    const std::vector<float> own =
        found != tensors.end() ? found->second.floats() : std::vector<float>(size);
    values.insert(values.end(), own.begin(), own.end());
  }
  if (weight) return make_tensor({3LL * dim, dim}, values);
  return make_tensor({3LL * dim}, values);
}

/// The whole network under its published names.
TensorMap published_tensors(const TensorFile& file, const VitShape& shape) {
  TensorMap all;
  for (const auto& [name, stored] : canonical_vit_names(file)) all[name] = file.at(stored);
  for (int b = 0; b < shape.depth; ++b) {
    const std::string attention = fmt::format("blocks.{}.attn.", b);
    if (all.count(attention + "q.weight") == 0) continue;
    for (const char* kind : {".weight", ".bias"}) {
      all[attention + "qkv" + kind] = joined_qkv(all, attention, kind, shape.dim);
      for (const char* part : {"q", "k", "v"}) all.erase(attention + part + kind);
    }
  }
  return all;
}

/// Fills in what the default of a network that is trained is: the last block through the final
/// norm.
BackboneOptions trained_output(const BackboneOptions& asked, const VitShape& shape) {
  BackboneOptions out = asked;
  if (shape.adapter > 0) throw std::invalid_argument("a network with adapters cannot be trained");
  if (out.position_rule || (out.stride != 0 && out.stride != shape.patch)) {
    throw std::invalid_argument(
        "position_rule and stride are not part of a RIA-FT file: they cannot be set for training");
  }
  if (!out.facet && !out.layer) out.final_norm = true;
  if (!out.facet) out.facet = Facet::kToken;
  if (!out.layer) out.layer = shape.depth - 1;
  return out;
}

}  // namespace

void add_vit_trunk(const BackboneWeights& weights,
                   const TrainOptions& options,
                   bool from_pixels,
                   TrainNetwork& network) {
  const VitShape shape = vit_shape(weights.file, canonical_vit_names(weights.file));
  const BackboneOptions asked = trained_output(options.network, shape);
  VitOutput output = vit_output(shape, asked);
  check_unfreeze(options, output.blocks, "blocks in front of what is pooled");
  network.settings.backbone.facet = asked.facet;
  network.settings.backbone.layer = asked.layer;
  network.settings.backbone.final_norm = asked.final_norm;
  network.preprocessing = vit_preprocessing(shape, shape.patch);
  network.source = std::make_shared<const TensorFile>(
      weights.file.path(), WeightFormat::safetensors, published_tensors(weights.file, shape));

  VitTrunk& vit = network.shape.vit;
  vit.dim = shape.dim;
  vit.heads = shape.heads;
  vit.hidden = shape.hidden;
  vit.patch = vit.stride = shape.patch;
  vit.registers = shape.registers;
  vit.gated = shape.gated;
  vit.layer_scale = shape.layer_scale;
  vit.blocks = output.blocks;
  vit.facet = output.facet;
  vit.interleaved = !shape.layer_scale && output.facet != Facet::kToken;
  vit.final_norm = output.final_norm;
  network.shape.feature_dim = shape.dim;
  const int frozen = output.blocks - options.unfreeze;
  network.shape.entry = from_pixels ? 0 : frozen + 1;

  const auto add = [&](const std::string& prefix, bool trained) {
    for (const auto& [name, tensor] : network.source->tensors()) {
      if (!name.starts_with(prefix)) continue;
      network.tensors.push_back({"backbone." + name, tensor.shape, tensor.floats()});
      if (trained) network.trained.push_back("backbone." + name);
    }
  };
  if (from_pixels) add("patch_embed.proj.weight", false);
  for (int b = from_pixels ? 0 : frozen; b < output.blocks; ++b) {
    add(fmt::format("blocks.{}.", b), b >= frozen);
  }
  const bool behind = options.unfreeze > 0;
  if (output.facet != Facet::kToken) {
    add(fmt::format("blocks.{}.norm1.", output.blocks), behind);
    add(fmt::format("blocks.{}.attn.qkv.", output.blocks), behind);
  } else if (output.final_norm) {
    add("norm.", behind);
  }
  output.blocks = from_pixels ? 0 : frozen;
  output.facet = Facet::kToken;
  output.final_norm = false;
  if (from_pixels) {
    network.frozen = std::make_shared<FromPixels>(weights.file, output);
  } else {
    network.frozen = std::make_shared<FrozenBlocks>(weights.file, output);
  }
}

}  // namespace ria
