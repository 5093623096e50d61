// SPDX-License-Identifier: MIT
#include "simulate/noise.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace ria::sim {
namespace {

constexpr int kSide = 256;  // texels a side of the finest level
constexpr int kLevels = 9;  // 256, 128, ... 1

// Bytes, so that the whole pyramid stays in a core's second-level cache.
struct Tile {
  std::vector<std::uint8_t> level[kLevels];
};

float lattice(int x, int y, int period, std::uint32_t octave) {
  return unit(hash32(
      static_cast<std::uint32_t>(x % period), static_cast<std::uint32_t>(y % period), octave));
}

float value_noise(float u, float v, int period, std::uint32_t octave) {
  const float x = u * static_cast<float>(period), y = v * static_cast<float>(period);
  const int i = floor_int(x), j = floor_int(y);
  const float a = smooth(0, 1, x - static_cast<float>(i));
  const float b = smooth(0, 1, y - static_cast<float>(j));
  return mix(mix(lattice(i, j, period, octave), lattice(i + 1, j, period, octave), a),
             mix(lattice(i, j + 1, period, octave), lattice(i + 1, j + 1, period, octave), a),
             b);
}

Tile build_tile() {
  std::vector<float> level[kLevels];
  level[0].resize(kSide * kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      float sum = 0, weight = 0.5f;
      for (int octave = 0, period = 4; octave < 6; ++octave, period *= 2, weight *= 0.58f)
        sum +=
            weight * (value_noise((x + 0.5f) / kSide, (y + 0.5f) / kSide, period, octave) - 0.5f);
      level[0][y * kSide + x] = 0.5f + 1.1f * sum;
    }
  }
  for (int l = 1; l < kLevels; ++l) {
    const int side = kSide >> l;
    const std::vector<float>& fine = level[l - 1];
    level[l].resize(side * side);
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const int at = 4 * y * side + 2 * x;  // the finer level is 2 * side wide
        level[l][y * side + x] =
            (fine[at] + fine[at + 1] + fine[at + 2 * side] + fine[at + 2 * side + 1]) / 4;
      }
  }
  Tile tile;
  for (int l = 0; l < kLevels; ++l)
    for (const float v : level[l])
      tile.level[l].push_back(static_cast<std::uint8_t>(clamp01(v) * 255 + 0.5f));
  return tile;
}

}  // namespace

float noise(float u, float v, float footprint) {
  static const Tile kTile = build_tile();
  // The exponent of the footprint in texels is the level: no logarithm needed.
  const float texels = std::max(footprint * kSide, 1.0f);
  const int l =
      std::min(static_cast<int>(std::bit_cast<std::uint32_t>(texels) >> 23) - 127, kLevels - 1);
  const int side = kSide >> l, mask = side - 1;
  const float x = u * static_cast<float>(side) - 0.5f, y = v * static_cast<float>(side) - 0.5f;
  const int i = floor_int(x), j = floor_int(y);
  const float a = x - static_cast<float>(i), b = y - static_cast<float>(j);
  const std::uint8_t* row0 = kTile.level[l].data() + (j & mask) * side;
  const std::uint8_t* row1 = kTile.level[l].data() + ((j + 1) & mask) * side;
  const int i0 = i & mask, i1 = (i + 1) & mask;
  const float p = row0[i0], q = row0[i1], r = row1[i0], s = row1[i1];
  return mix(mix(p, q, a), mix(r, s, a), b) * (1 / 255.0f);
}

float bars(float v, float width, float period, float bar) {
  const auto integral = [period, bar](float at) {
    const float k = static_cast<float>(floor_int(at / period));
    return k * bar + std::min(at - k * period, bar);
  };
  width = std::max(width, 1e-4f);
  return clamp01((integral(v + width / 2) - integral(v - width / 2)) / width);
}

}  // namespace ria::sim
