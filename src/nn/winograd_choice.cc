// SPDX-License-Identifier: MIT
// Which convolutions Winograd's algorithm takes, by an estimate of what both ways cost one core.
//
// A direct convolution multiplies 9 times for every pair of channels and pixel of the result;
// tiles of 4x4 do so 36 times for 16 pixels and tiles of 2x4 24 times for 8, but pixels beyond the
// border and tiles beyond the last group are multiplied too. Beside multiplying there are the
// transforms, which grow with the channels and not with their pairs, and the weights, which come
// from far away once a picture: 36 or 24 numbers a pair instead of 9. So large tiles lose where
// pixels are few, and both lose where they are very few. Wider vectors multiply and transform
// faster, but weights do not come faster: with 512 bits the 7x7 layers of a ResNet are better
// direct.
//
// The constants were fitted on a Zen 3 core with AVX2 (`ria_bench --only winograd` prints the
// estimate beside what it measures); what they say of other CPUs follows from the vectors' width.
#include <algorithm>
#include <initializer_list>

#include "nn/winograd.h"

namespace ria {

namespace {

constexpr int kFewestChannels = 64;
constexpr double kEfficiency = 0.87;     // of two fused products a cycle and lane, both ways
constexpr double kBytesPerCycle = 7;     // at which weights come
constexpr double kInputPosition = 6.4;   // cycles to transform a vector, for each position
constexpr double kOutputPosition = 4.9;  // the same for results
constexpr double kMargin = 1.1;          // how much better the estimate must be

int parts(int whole, int part) { return (whole + part - 1) / part; }

/// Cycles to multiply for every pair of channels and to bring `numbers` weights of each.
double pair_cycles(const Convolution& conv, double products, double numbers, int vector) {
  const double pairs = static_cast<double>(conv.in) * conv.out;
  return pairs * (products / (2 * vector * kEfficiency) + numbers * sizeof(float) / kBytesPerCycle);
}

bool fits(const Convolution& conv, const PanelKernels& kernels) {
  return kernels.fused && conv.kernel == 3 && conv.stride == 1 && conv.pad == 1 &&
         conv.in % kernels.width == 0 && conv.out % kernels.width == 0 &&
         std::min(conv.in, conv.out) >= kFewestChannels;
}

}  // namespace

double direct_cycles(const Convolution& conv, int height, int width, const PanelKernels& kernels) {
  return pair_cycles(conv, 9.0 * height * width, 9, kernels.width);
}

double winograd_cycles(const Convolution& conv,
                       int height,
                       int width,
                       const PanelKernels& kernels,
                       const WinogradKernels& transforms) {
  const int tiles = parts(height, transforms.tile_rows) * parts(width, transforms.tile_columns);
  const int groups = parts(tiles, kernels.rows), positions = winograd_positions(transforms);
  const double transformed =
      (kInputPosition * conv.in + kOutputPosition * conv.out) / kernels.width * positions * tiles;
  return pair_cycles(conv, 1.0 * positions * groups * kernels.rows, positions, kernels.width) +
         transformed;
}

const WinogradKernels* choose_winograd(const Convolution& conv,
                                       int height,
                                       int width,
                                       const PanelKernels& kernels) {
  if (!fits(conv, kernels)) return nullptr;
  double least = direct_cycles(conv, height, width, kernels) / kMargin;
  const WinogradKernels* best = nullptr;
  for (const WinogradKernels* transforms : {&kernels.winograd_2x4, &kernels.winograd_4x4}) {
    const double cycles = winograd_cycles(conv, height, width, kernels, *transforms);
    if (cycles < least) {
      least = cycles;
      best = transforms;
    }
  }
  return best;
}

}  // namespace ria
