// SPDX-License-Identifier: MIT
// The transforms of Winograd convolutions, compiled for AVX2.
//
// Tensors keep eight channels together. A tile of the result is R x C pixels; it comes from
// (R + 2) x (C + 2) pixels, which the transform turns into as many "positions", each a matrix
// product over the channels of its own.
#pragma once

#include <cstdint>

namespace ria {

constexpr int kWinogradBlock = 8;  ///< channels that lie together
constexpr int kWinogradGroup = 4;  ///< tiles that lie together

/// Where a channel of a block lies among the transformed ones: what a transposition of four
/// registers gives at least cost.
constexpr int kWinogradOrder[kWinogradBlock] = {0, 2, 4, 6, 1, 3, 5, 7};

/// Where polynomials are evaluated for tiles of four: 0, these, their negatives and infinity. A
/// quarter of the rounding errors of the customary 1 and 2.
constexpr float kWinogradNear = 0.75f, kWinogradFar = 1.5f;

/// A tensor of height x width pixels.
struct WinogradPlane {
  int height, width;
  std::int64_t pixel;  ///< floats from a pixel to the next of its row
  int tiles_x;         ///< tiles of a row
};

struct WinogradKernels {
  int tile_rows, tile_columns;  ///< R and C

  int positions() const { return (tile_rows + 2) * (tile_columns + 2); }

  /// B^T d B of one block of channels of kWinogradGroup tiles, of which `count` exist. Position p
  /// is written to out + p * stride as [channel][tile].
  void (*transform_input)(const float* source,
                          const WinogradPlane& plane,
                          int first,
                          int count,
                          float* out,
                          std::int64_t stride);

  /// A^T m A of one block of channels of `count` tiles: position p of tile i is at
  /// products + p * stride + i * step. Adds bias and, on demand, what the target holds.
  void (*transform_output)(const float* products,
                           std::int64_t stride,
                           std::int64_t step,
                           const WinogradPlane& plane,
                           int first,
                           int count,
                           const float* bias,
                           bool accumulate,
                           bool relu,
                           float* target);
};

extern const WinogradKernels kWinograd2x4;
extern const WinogradKernels kWinograd4x4;

}  // namespace ria
