// SPDX-License-Identifier: MIT
// RIA-FT heads of any size, for tests.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace ria {

/// Normal values of variance 1 / columns.
inline Tensor random_weight(std::int64_t rows, std::int64_t columns, std::mt19937& engine) {
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(columns)));
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (float& value : values) value = normal(engine);
  return make_tensor({rows, columns}, values);
}

inline Tensor random_bias(std::int64_t size, std::mt19937& engine) {
  std::uniform_real_distribution<float> uniform(-0.1f, 0.1f);
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = uniform(engine);
  return make_tensor({size}, values);
}

/// The tensors heads.*: `heads` heads of d projected channels with a hidden layer and `out` values
/// each. hidden = 0: a single linear layer; out = 0: no layers.
inline TensorMap random_ria_ft_head(
    int feature_dim, int heads, int d, int hidden, int out, std::uint32_t seed) {
  std::mt19937 engine(seed);
  TensorMap tensors;
  const std::int64_t values = static_cast<std::int64_t>(d) * (d + 1) / 2;
  for (int h = 0; h < heads; ++h) {
    const std::string name = "heads." + std::to_string(h) + ".";
    const auto linear = [&](const std::string& layer, std::int64_t outputs, std::int64_t inputs) {
      tensors[name + layer + ".weight"] = random_weight(outputs, inputs, engine);
      tensors[name + layer + ".bias"] = random_bias(outputs, engine);
    };
    tensors[name + "projection.weight"] = random_weight(d, feature_dim, engine);
    if (out == 0) continue;
    linear("mlp.0", hidden > 0 ? hidden : out, values);
    if (hidden > 0) linear("mlp.2", out, hidden);
  }
  return tensors;
}

}  // namespace ria
