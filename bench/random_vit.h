// SPDX-License-Identifier: MIT
// Transformers of published shapes with made-up weights, for what needs a network but no meaning.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "weights/safetensors.h"

namespace ria::bench {

/// A published shape.
struct RandomVitShape {
  const char* name;
  int dim, depth, hidden;
  bool gated;
};

inline constexpr RandomVitShape kRandomVitShapes[] = {{"vits14", 384, 12, 1536, false},
                                                      {"vitb14", 768, 12, 3072, false},
                                                      {"vitl14", 1024, 24, 4096, false},
                                                      {"vitg14", 1536, 40, 4096, true}};

inline const RandomVitShape& random_vit_shape(const std::string& network) {
  for (const RandomVitShape& shape : kRandomVitShapes) {
    if (shape.name == network) return shape;
  }
  throw std::invalid_argument(fmt::format(
      "unknown network '{}', known: vits14, vitb14, vitl14, vitg14, resnet50", network));
}

/// Nearly normal numbers, quickly: a giant has a thousand million of them.
class RandomNumbers {
 public:
  std::vector<float> take(std::size_t count, float scale, float mean = 0) {
    std::vector<float> values(count);
    for (float& value : values) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      const auto part = [&](int shift) { return static_cast<float>((state_ >> shift) & 0xffff); };
      // Three uniform numbers: variance 1/4 at this width.
      value = mean + scale * 2 * ((part(16) + part(32) + part(48)) / 65536 - 1.5f);
    }
    return values;
  }

 private:
  std::uint64_t state_ = 42;
};

/// The file of a transformer under its published names.
inline void write_random_weights(const std::string& network, const std::filesystem::path& file) {
  const RandomVitShape& shape = random_vit_shape(network);
  const int dim = shape.dim;
  RandomNumbers numbers;
  TensorMap tensors;
  const auto add =
      [&](const std::string& name, std::vector<std::int64_t> sides, float scale, float mean = 0) {
        std::size_t count = 1;
        for (const auto side : sides) count *= static_cast<std::size_t>(side);
        tensors[name] = make_tensor(std::move(sides), numbers.take(count, scale, mean));
      };
  const auto linear = [&](const std::string& name, int out, int in) {
    add(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<float>(in)));
    add(name + ".bias", {out}, 0.02f);
  };
  add("cls_token", {1, 1, dim}, 0.02f);
  add("pos_embed", {1, 1370, dim}, 0.02f);
  add("patch_embed.proj.weight", {dim, 3, 14, 14}, 0.04f);
  add("patch_embed.proj.bias", {dim}, 0.02f);
  for (int b = 0; b < shape.depth; ++b) {
    const std::string block = fmt::format("blocks.{}.", b);
    for (const char* norm : {"norm1", "norm2"}) {
      add(block + norm + ".weight", {dim}, 0.1f, 1);
      add(block + norm + ".bias", {dim}, 0.05f);
    }
    add(block + "ls1.gamma", {dim}, 0.1f, 0.3f);
    add(block + "ls2.gamma", {dim}, 0.1f, 0.3f);
    linear(block + "attn.qkv", 3 * dim, dim);
    linear(block + "attn.proj", dim, dim);
    linear(
        block + (shape.gated ? "mlp.w12" : "mlp.fc1"), shape.hidden * (shape.gated ? 2 : 1), dim);
    linear(block + (shape.gated ? "mlp.w3" : "mlp.fc2"), dim, shape.hidden);
  }
  add("norm.weight", {dim}, 0.1f, 1);
  add("norm.bias", {dim}, 0.05f);
  write_safetensors(file, tensors);
}

}  // namespace ria::bench
