// SPDX-License-Identifier: MIT
// What resampling is made of: for each output position a run of input positions and their weights.
#pragma once

#include <cstdint>
#include <vector>

#include "ria/image.h"

namespace ria {

/// Weights of one axis. Output i is the sum over k < count[i] of
/// weight[i * stride + k] * input[first[i] + k].
struct Taps {
  int stride = 0;
  std::vector<int> first;
  std::vector<int> count;
  std::vector<float> weight;

  int size() const { return static_cast<int>(first.size()); }
  const float* of(int i) const { return weight.data() + static_cast<std::size_t>(i) * stride; }
};

// Pillow: 32 bits less 8 for the value and 2 for the sign and the overshoot of cubic weights.
inline constexpr int kPrecisionBits = 32 - 8 - 2;

/// The same with weights multiplied by 2^kPrecisionBits and rounded.
struct FixedTaps {
  int stride = 0;
  std::vector<int> first;
  std::vector<int> count;
  std::vector<std::int32_t> weight;
};

/// The axis weights of a "pil" kind.
FixedTaps pil_taps(int in, int out, Resize kind);

/// The axis weights of a "tensor" kind. Without antialiasing `step` may replace the ratio in / out
/// between the positions of neighbouring results.
Taps tensor_taps(int in, int out, Resize kind, double step = 0);

/// destination[i] = sum over k < count of weight[k] * source[k * row + i], for i < row.
void sum_rows(const float* source, int row, const float* weight, int count, float* destination);

bool is_pil(Resize kind);

/// Bytes of a pixel.
int channels_of(PixelFormat format);
/// Where red, green and blue are in a pixel.
std::array<int, 3> rgb_offsets(PixelFormat format);
/// A row of the view as RGB.
void copy_row(const ImageView& view, int row, std::uint8_t* rgb);

/// Throws std::invalid_argument unless the buffer holds what the size says.
void check_image(const Image& image);
void check_pixels(const Pixels& pixels);

}  // namespace ria
