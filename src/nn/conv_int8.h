// SPDX-License-Identifier: MIT
// What lies between two int8 convolutions. CPUs without VNNI sum pairs of products in 16 bits, so
// that one side must give up a bit: it is the weights, which have a scale a channel. Activations
// are 0..255, weights within +-64, and 2 x 255 x 64 < 2^15 stays exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ria {

/// Weights of a convolution by output channel: weight = scale[out] * level.
struct Int8Weights {
  std::vector<std::int8_t> levels;  ///< within +-64, in the order of the weights
  std::vector<float> scales;        ///< out
};
Int8Weights quantize_weights(const std::vector<float>& weights, int out);

constexpr float kActivationLevels = 255;
constexpr float kWeightLevels = 64;

/// Largest value; 0 for none above it. The same on any number of threads, as are the others.
float largest(const float* values, std::size_t count);

/// round(value * factor), within 0..255.
void quantize(const float* values, std::size_t count, float factor, std::uint8_t* levels);

/// values = scale * values + residual_scale * residual, then ReLU if wanted; the largest result.
float add_residual(float* values,
                   const float* residual,
                   std::size_t count,
                   float scale,
                   float residual_scale,
                   bool relu);

}  // namespace ria
