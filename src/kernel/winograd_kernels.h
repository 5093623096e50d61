// SPDX-License-Identifier: MIT
// The transforms of Winograd convolutions, part of the kernels of every kind of CPU.
//
// A tile of the result is R x C pixels; it comes from (R + 2) x (C + 2) pixels, which the transform
// turns into as many "positions", each a matrix product over the channels of its own.
#pragma once

#include <cstdint>

namespace ria {

/// Where polynomials are evaluated for tiles of four: 0, these, their negatives and infinity. A
/// quarter of the rounding errors of the customary 1 and 2.
constexpr float kWinogradNear = 0.75f, kWinogradFar = 1.5f;

/// How a tensor lies in memory: blocks of channels one after the other, in each the pixels row by
/// row.
struct WinogradTensor {
  int height, width;
  int together;  ///< channels of a block: 8 or 16, or all of them (NHWC); a multiple of the
                 ///< vectors'
};

/// What becomes of the products.
struct WinogradResult {
  float* target;
  const float* bias;  ///< one value a channel
  bool accumulate;    ///< add to what the target holds
  bool relu;
};

/// Both transforms work on one tile, whose upper left pixel of the result is (y, x), and on as many
/// channels as a vector holds, from `channel` on. Position p is `stride` floats after position p
/// - 1.
struct WinogradKernels {
  int tile_rows, tile_columns;  ///< R and C

  /// B^T d B. Pixels outside of the picture are zero.
  void (*transform_input)(const float* source,
                          const WinogradTensor& tensor,
                          int channel,
                          int y,
                          int x,
                          float* out,
                          std::int64_t stride);

  /// A^T m A. Pixels outside of the picture are not written.
  void (*transform_output)(const float* products,
                           std::int64_t stride,
                           const WinogradTensor& tensor,
                           int channel,
                           int y,
                           int x,
                           const WinogradResult& result);
};

}  // namespace ria
