// SPDX-License-Identifier: MIT
#include "weights/vit_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <string_view>
#include <vector>

#include "archive/bytes.h"
#include "weights/prefixes.h"

namespace ria {

namespace {

using Names = std::map<std::string, std::string>;

struct Renamed {
  std::string_view foreign, own;
};

constexpr std::array<Renamed, 6> kOutside{
    {{"embeddings.cls_token", "cls_token"},
     {"embeddings.position_embeddings", "pos_embed"},
     {"embeddings.register_tokens", "register_tokens"},
     {"embeddings.mask_token", "mask_token"},
     {"embeddings.patch_embeddings.projection.", "patch_embed.proj."},
     {"layernorm.", "norm."}}};

constexpr std::array<Renamed, 11> kInside{{{"attention.attention.query.", "attn.q."},
                                           {"attention.attention.key.", "attn.k."},
                                           {"attention.attention.value.", "attn.v."},
                                           {"attention.output.dense.", "attn.proj."},
                                           {"layer_scale1.lambda1", "ls1.gamma"},
                                           {"layer_scale2.lambda1", "ls2.gamma"},
                                           {"mlp.weights_in.", "mlp.w12."},
                                           {"mlp.weights_out.", "mlp.w3."},
                                           {"mlp.", "mlp."},
                                           {"norm1.", "norm1."},
                                           {"norm2.", "norm2."}}};

template <std::size_t N>
std::string renamed(std::string_view name, const std::array<Renamed, N>& table) {
  for (const Renamed& row : table) {
    if (name.starts_with(row.foreign)) {
      return std::string(row.own) + std::string(name.substr(row.foreign.size()));
    }
  }
  return "";
}

/// The published name of a Hugging Face name; empty for what is no part of the network.
std::string from_hugging_face(const std::string& name) {
  static const std::regex layer(R"(encoder\.layer\.(\d{1,4})\.(.*))");
  std::smatch match;
  if (!std::regex_match(name, match, layer)) return renamed(name, kOutside);
  const std::string inner = renamed(match[2].str(), kInside);
  return inner.empty() ? "" : fmt::format("blocks.{}.{}", match[1].str(), inner);
}

/// Training code keeps blocks in chunks, blocks.CHUNK.BLOCK.rest: the chunk says nothing.
std::string without_chunk(const std::string& name) {
  static const std::regex chunked(R"(blocks\.\d{1,4}\.(\d{1,4}\..*))");
  std::smatch match;
  return std::regex_match(name, match, chunked) ? "blocks." + match[1].str() : name;
}

const Tensor& tensor(const TensorFile& file, const Names& names, const std::string& name) {
  const auto it = names.find(name);
  if (it == names.end()) throw read_error(file.path(), name + " is missing from the transformer");
  return file.at(it->second);
}

/// A dimension that is small enough to multiply with others.
int dimension(const TensorFile& file,
              const Tensor& of,
              const std::string& name,
              std::size_t axes,
              std::size_t axis) {
  if (of.shape.size() != axes || of.shape[axis] < 1 || of.shape[axis] > (1 << 20)) {
    throw read_error(file.path(), name + " has another shape than a transformer's");
  }
  return static_cast<int>(of.shape[axis]);
}

/// Kind and inner width of the adapters; an unknown kind is refused by what it lacks.
void find_adapters(const TensorFile& file, const Names& names, VitShape& shape) {
  const auto set = [&](VitAdapters kind, const std::string& first) {
    shape.adapters = kind;
    shape.adapter = dimension(file, tensor(file, names, first), first, 2, 0);
  };
  if (names.count("adapters.0.D_fc1.weight") != 0) {
    return set(VitAdapters::kSide, "adapters.0.D_fc1.weight");
  }
  const bool adapted = std::any_of(names.begin(), names.end(), [](const auto& entry) {
    return entry.first.starts_with("blocks.") && entry.first.find(".adapter") != std::string::npos;
  });
  if (!adapted) return;
  const bool scales = names.count("blocks.0.adapter.branch1.conv.weight") != 0;
  set(scales ? VitAdapters::kMultiScale : VitAdapters::kSerial,
      scales ? "blocks.0.adapter.D_fc1.weight" : "blocks.0.adapter1.D_fc1.weight");
}

}  // namespace

Names canonical_vit_names(const TensorFile& file) {
  Names out;
  for (const auto& [name, stored] :
       names_behind_prefix(file, {"cls_token", "pos_embed", "patch_embed.proj.weight"})) {
    out.emplace(without_chunk(name), stored);
  }
  if (!out.empty()) return out;
  for (const auto& [name, stored] : names_behind_prefix(
           file, {"embeddings.cls_token", "embeddings.position_embeddings", "layernorm.weight"})) {
    const std::string own = from_hugging_face(name);
    if (!own.empty()) out.emplace(own, stored);
  }
  return out;
}

VitShape vit_shape(const TensorFile& file, const Names& names) {
  VitShape shape;
  const Tensor& patch = tensor(file, names, "patch_embed.proj.weight");
  shape.dim = dimension(file, patch, "patch_embed.proj.weight", 4, 0);
  shape.patch = dimension(file, patch, "patch_embed.proj.weight", 4, 2);
  const int rows = dimension(file, tensor(file, names, "pos_embed"), "pos_embed", 3, 1);
  shape.grid = static_cast<int>(std::lround(std::sqrt(rows - 1)));
  if (patch.shape[1] != 3 || patch.shape[3] != shape.patch || shape.dim % 64 != 0 ||
      shape.grid * shape.grid != rows - 1 || shape.grid < 1) {
    throw read_error(file.path(), "its patch embedding or table of positions is no transformer's");
  }
  shape.heads = shape.dim / 64;
  if (names.count("register_tokens") != 0) {
    shape.registers =
        dimension(file, tensor(file, names, "register_tokens"), "register_tokens", 3, 1);
  }
  while (names.count(fmt::format("blocks.{}.norm1.weight", shape.depth)) != 0) ++shape.depth;
  if (shape.depth == 0) throw read_error(file.path(), "the transformer has no blocks");
  shape.gated = names.count("blocks.0.mlp.w12.weight") != 0;
  const std::string up = shape.gated ? "blocks.0.mlp.w12.weight" : "blocks.0.mlp.fc1.weight";
  shape.hidden = dimension(file, tensor(file, names, up), up, 2, 0) / (shape.gated ? 2 : 1);
  shape.layer_scale = names.count("blocks.0.ls1.gamma") != 0;
  find_adapters(file, names, shape);
  return shape;
}

std::string vit_architecture(const VitShape& shape) {
  struct Size {
    std::string_view name;
    int dim, depth;
  };
  constexpr std::array<Size, 4> kSizes{
      {{"vits", 384, 12}, {"vitb", 768, 12}, {"vitl", 1024, 24}, {"vitg", 1536, 40}}};
  const std::string family = shape.layer_scale ? "dinov2" : "dino";
  const bool published =
      shape.layer_scale ? shape.patch == 14 : shape.patch == 8 || shape.patch == 16;
  for (const Size& size : kSizes) {
    if (!published || size.dim != shape.dim || size.depth != shape.depth) continue;
    return fmt::format(
        "{}-{}{}{}", family, size.name, shape.patch, shape.registers > 0 ? "-reg" : "");
  }
  return family;
}

}  // namespace ria
