// SPDX-License-Identifier: MIT
// The transforms of Winograd convolutions; see panel_kernels_impl.h. A vector holds channels of one
// pixel, so that a transform is the same few sums in every lane.
#pragma once

#include "kernel/panel_vector.h"

namespace ria {
namespace {

#define RIA_INLINE inline __attribute__((always_inline))

/// One dimension of a transform: kOut results of kOut + 2 values.
template <int kOut>
struct Dimension;

/// Points 0, 1, -1, infinity.
template <>
struct Dimension<2> {
  static RIA_INLINE void input(const Vf (&d)[4], Vf (&b)[4]) {
    b[0] = d[0] - d[2];
    b[1] = d[1] + d[2];
    b[2] = d[2] - d[1];
    b[3] = d[1] - d[3];
  }
  static RIA_INLINE void output(const Vf (&m)[4], Vf (&y)[2]) {
    y[0] = m[0] + (m[1] + m[2]);
    y[1] = (m[1] - m[2]) - m[3];
  }
};

/// Points 0, a, -a, b, -b, infinity, see nn/winograd.cc.
template <>
struct Dimension<4> {
  static constexpr float a = kWinogradNear, b = kWinogradFar;

  static RIA_INLINE void input(const Vf (&d)[6], Vf (&t)[6]) {
    const Vf near_even = d[4] - b * b * d[2], near_odd = d[3] - b * b * d[1];
    const Vf far_even = d[4] - a * a * d[2], far_odd = d[3] - a * a * d[1];
    t[0] = a * a * b * b * d[0] + (d[4] - (a * a + b * b) * d[2]);
    t[1] = near_even + a * near_odd;
    t[2] = near_even - a * near_odd;
    t[3] = far_even + b * far_odd;
    t[4] = far_even - b * far_odd;
    t[5] = a * a * b * b * d[1] + (d[5] - (a * a + b * b) * d[3]);
  }
  static RIA_INLINE void output(const Vf (&m)[6], Vf (&y)[4]) {
    const Vf near_sum = m[1] + m[2], near_difference = m[1] - m[2];
    const Vf far_sum = m[3] + m[4], far_difference = m[3] - m[4];
    y[0] = (m[0] + near_sum) + far_sum;
    y[1] = a * near_difference + b * far_difference;
    y[2] = a * a * near_sum + b * b * far_sum;
    y[3] = a * a * a * near_difference + (b * b * b * far_difference + m[5]);
  }
};

const float kZeros[kWidth] = {};

/// Floats from the start of a tensor to a channel of a pixel, which may lie outside.
inline std::int64_t offset(const WinogradTensor& tensor, int channel, int y, int x) {
  const std::int64_t row = channel / tensor.together * tensor.height + y;
  return (row * tensor.width + x) * tensor.together + channel % tensor.together;
}

/// B^T d B of what lies from pixel (y, x) on, which is at `from`.
template <int kR, int kC, bool kInside>
RIA_INLINE void tile_input(const float* from,
                           const WinogradTensor& tensor,
                           int y,
                           int x,
                           float* out,
                           std::int64_t stride) {
  const std::int64_t row = static_cast<std::int64_t>(tensor.width) * tensor.together;
  // What the next tile reads: the stores of this one would keep its loads waiting.
  for (int r = 0; r < kR + 2; ++r) {
    const float* next = from + r * row + (kC + 2) * tensor.together;
#pragma GCC unroll 4
    for (int c = 0; c < kC; ++c) __builtin_prefetch(next + c * tensor.together);
  }
  Vf rows[kR + 2][kC + 2];
#pragma GCC unroll 6
  for (int c = 0; c < kC + 2; ++c) {
    const bool column = x + c >= 0 && x + c < tensor.width;
    Vf d[kR + 2], b[kR + 2];
#pragma GCC unroll 6
    for (int r = 0; r < kR + 2; ++r) {
      const bool held = kInside || (column && y + r >= 0 && y + r < tensor.height);
      d[r] = load_unaligned(held ? from + r * row + c * tensor.together : kZeros);
    }
    Dimension<kR>::input(d, b);
#pragma GCC unroll 6
    for (int r = 0; r < kR + 2; ++r) rows[r][c] = b[r];
  }
#pragma GCC unroll 6
  for (int r = 0; r < kR + 2; ++r) {
    Vf values[kC + 2];
    Dimension<kC>::input(rows[r], values);
#pragma GCC unroll 6
    for (int c = 0; c < kC + 2; ++c) store(out + (r * (kC + 2) + c) * stride, values[c]);
  }
}

template <int kR, int kC>
void transform_input(const float* source,
                     const WinogradTensor& tensor,
                     int channel,
                     int y,
                     int x,
                     float* out,
                     std::int64_t stride) {
  --y, --x;  // the filter reaches a pixel beyond the tile
  const float* from = source + offset(tensor, channel, y, x);
  if (y >= 0 && x >= 0 && y + kR + 2 <= tensor.height && x + kC + 2 <= tensor.width) {
    tile_input<kR, kC, true>(from, tensor, y, x, out, stride);
  } else {
    tile_input<kR, kC, false>(from, tensor, y, x, out, stride);
  }
}

template <int kR, int kC>
void transform_output(const float* products,
                      std::int64_t stride,
                      const WinogradTensor& tensor,
                      int channel,
                      int y,
                      int x,
                      const WinogradResult& result) {
  Vf rows[kR][kC + 2];
#pragma GCC unroll 6
  for (int c = 0; c < kC + 2; ++c) {
    Vf m[kR + 2], a[kR];
#pragma GCC unroll 6
    for (int r = 0; r < kR + 2; ++r) m[r] = load(products + (r * (kC + 2) + c) * stride);
    Dimension<kR>::output(m, a);
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) rows[r][c] = a[r];
  }
  const Vf bias = load_unaligned(result.bias + channel);
  const std::int64_t row = static_cast<std::int64_t>(tensor.width) * tensor.together;
  float* target = result.target + offset(tensor, channel, y, x);
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
    if (y + r >= tensor.height) break;
    Vf values[kC];
    Dimension<kC>::output(rows[r], values);
#pragma GCC unroll 4
    for (int c = 0; c < kC; ++c) {
      if (x + c >= tensor.width) break;
      float* pixel = target + r * row + c * tensor.together;
      Vf value = values[c] + bias;
      if (result.accumulate) value += load_unaligned(pixel);
      if (result.relu) value = max(value, Vf{});
      store_unaligned(pixel, value);
    }
  }
}

template <int kR, int kC>
constexpr WinogradKernels make_winograd() {
  return {kR, kC, transform_input<kR, kC>, transform_output<kR, kC>};
}

}  // namespace
}  // namespace ria
