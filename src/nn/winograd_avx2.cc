// SPDX-License-Identifier: MIT
// The build gives this file its instruction set. Everything but the tables of kernels has internal
// linkage and no inline function of the standard library is used: code compiled for a newer CPU
// must not be picked by the linker for all.
#include <immintrin.h>

#include "nn/winograd_kernels.h"

namespace ria {
namespace {

typedef float Vf __attribute__((vector_size(4 * kWinogradBlock)));

#define RIA_INLINE inline __attribute__((always_inline))

RIA_INLINE Vf load(const float* p) { return _mm256_loadu_ps(p); }
RIA_INLINE void store(float* p, Vf v) { _mm256_storeu_ps(p, v); }

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

/// Points 0, a, -a, b, -b, infinity, see winograd.cc.
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

alignas(32) const float kZeros[kWinogradBlock] = {};

/// B^T d B of the tile whose upper left pixel is (y, x), which may lie outside.
template <int kR, int kC>
RIA_INLINE void tile_input(
    const float* source, const WinogradPlane& plane, int y, int x, Vf (&out)[kR + 2][kC + 2]) {
  const std::int64_t row = plane.width * plane.pixel;
  const float* from = source + y * row + x * plane.pixel;
  const bool inside = y >= 0 && x >= 0 && y + kR + 2 <= plane.height && x + kC + 2 <= plane.width;
  Vf rows[kR + 2][kC + 2];
#pragma GCC unroll 6
  for (int c = 0; c < kC + 2; ++c) {
    Vf d[kR + 2], b[kR + 2];
    if (inside) {
#pragma GCC unroll 6
      for (int r = 0; r < kR + 2; ++r) d[r] = load(from + r * row + c * plane.pixel);
    } else {
      const bool column = x + c >= 0 && x + c < plane.width;
#pragma GCC unroll 6
      for (int r = 0; r < kR + 2; ++r) {
        const bool held = column && y + r >= 0 && y + r < plane.height;
        d[r] = load(held ? from + r * row + c * plane.pixel : kZeros);
      }
    }
    Dimension<kR>::input(d, b);
#pragma GCC unroll 6
    for (int r = 0; r < kR + 2; ++r) rows[r][c] = b[r];
  }
#pragma GCC unroll 6
  for (int r = 0; r < kR + 2; ++r) Dimension<kC>::input(rows[r], out[r]);
}

template <int kR, int kC>
void transform_input(const float* source,
                     const WinogradPlane& plane,
                     int first,
                     int count,
                     float* out,
                     std::int64_t stride) {
  Vf tiles[kWinogradGroup][kR + 2][kC + 2];
  int y = first / plane.tiles_x, x = first % plane.tiles_x;
  for (int i = 0; i < kWinogradGroup; ++i) {
    // Tiles that do not exist repeat the last: their products are not looked at.
    tile_input<kR, kC>(source, plane, y * kR - 1, x * kC - 1, tiles[i]);
    if (i + 1 >= count) continue;
    if (++x == plane.tiles_x) {
      x = 0;
      ++y;
    }
  }
  for (int r = 0; r < kR + 2; ++r) {
#pragma GCC unroll 6
    for (int c = 0; c < kC + 2; ++c) {
      const __m256 t0 = _mm256_unpacklo_ps(tiles[0][r][c], tiles[1][r][c]);
      const __m256 t1 = _mm256_unpackhi_ps(tiles[0][r][c], tiles[1][r][c]);
      const __m256 t2 = _mm256_unpacklo_ps(tiles[2][r][c], tiles[3][r][c]);
      const __m256 t3 = _mm256_unpackhi_ps(tiles[2][r][c], tiles[3][r][c]);
      // Two channels each, see kWinogradOrder.
      store(out, _mm256_shuffle_ps(t0, t2, 0x44));
      store(out + 8, _mm256_shuffle_ps(t0, t2, 0xee));
      store(out + 16, _mm256_shuffle_ps(t1, t3, 0x44));
      store(out + 24, _mm256_shuffle_ps(t1, t3, 0xee));
      out += stride;
    }
  }
}

template <int kR, int kC>
void transform_output(const float* products,
                      std::int64_t stride,
                      std::int64_t step,
                      const WinogradPlane& plane,
                      int first,
                      int count,
                      const float* bias,
                      bool accumulate,
                      bool relu,
                      float* target) {
  const Vf shift = load(bias);
  const std::int64_t row = plane.width * plane.pixel;
  int tile_y = first / plane.tiles_x, tile_x = first % plane.tiles_x;
  for (int i = 0; i < count; ++i) {
    const float* from = products + i * step;
    Vf rows[kR][kC + 2];
#pragma GCC unroll 6
    for (int c = 0; c < kC + 2; ++c) {
      Vf m[kR + 2], a[kR];
#pragma GCC unroll 6
      for (int r = 0; r < kR + 2; ++r) m[r] = load(from + (r * (kC + 2) + c) * stride);
      Dimension<kR>::output(m, a);
#pragma GCC unroll 6
      for (int r = 0; r < kR; ++r) rows[r][c] = a[r];
    }
    const int y = tile_y * kR, x = tile_x * kC;
    float* to = target + y * row + x * plane.pixel;
    const int columns = plane.width - x < kC ? plane.width - x : kC;
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) {
      if (y + r >= plane.height) break;
      Vf values[kC];
      Dimension<kC>::output(rows[r], values);
#pragma GCC unroll 4
      for (int c = 0; c < kC; ++c) {
        if (c >= columns) break;
        float* pixel = to + r * row + c * plane.pixel;
        Vf value = values[c] + shift;
        if (accumulate) value += load(pixel);
        if (relu) value = value > Vf{} ? value : Vf{};
        store(pixel, value);
      }
    }
    if (++tile_x == plane.tiles_x) {
      tile_x = 0;
      ++tile_y;
    }
  }
}

}  // namespace

const WinogradKernels kWinograd2x4 = {2, 4, transform_input<2, 4>, transform_output<2, 4>};
const WinogradKernels kWinograd4x4 = {4, 4, transform_input<4, 4>, transform_output<4, 4>};

}  // namespace ria
