// SPDX-License-Identifier: MIT
#include "nn/conv_int8.h"

#include <omp.h>

#include <algorithm>
#include <cmath>

namespace ria {

namespace {

constexpr std::size_t kChunk = 8192;  // values: a thread's share stays in its first cache

// Cloned for wider vectors because every activation passes through these.
#define RIA_CLONES __attribute__((target_clones("avx512f", "arch=haswell", "default")))

constexpr int kLanes = 32;

RIA_CLONES float chunk_largest(const float* x, std::size_t n) {
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  }
  float best = 0;
  for (; i < n; ++i) best = std::max(best, x[i]);
  for (const float lane : lanes) best = std::max(best, lane);
  return best;
}

RIA_CLONES void chunk_quantize(const float* x, std::size_t n, float factor, std::uint8_t* out) {
  for (std::size_t i = 0; i < n; ++i) {
    // The comparisons send NaN to 0: its conversion to an integer would be undefined.
    float level = x[i] * factor + 0.5f;
    level = level > 0.0f ? level : 0.0f;
    level = level < kActivationLevels ? level : kActivationLevels;
    out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(level));
  }
}

RIA_CLONES float chunk_add(float* x,
                           const float* residual,
                           std::size_t n,
                           float scale,
                           float residual_scale,
                           float floor) {
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      const float sum = scale * x[i + j] + residual_scale * residual[i + j];
      const float y = sum > floor ? sum : floor;
      x[i + j] = y;
      lanes[j] = y > lanes[j] ? y : lanes[j];
    }
  }
  float best = 0;
  for (; i < n; ++i) {
    x[i] = std::max(floor, scale * x[i] + residual_scale * residual[i]);
    best = std::max(best, x[i]);
  }
  for (const float lane : lanes) best = std::max(best, lane);
  return best;
}

/// body(begin, size) over all chunks; the largest of what it returns.
template <typename Body>
float over_chunks(std::size_t count, Body body) {
  const auto chunks = static_cast<std::ptrdiff_t>((count + kChunk - 1) / kChunk);
  float best = 0;
#pragma omp parallel for schedule(static) reduction(max : best)
  for (std::ptrdiff_t c = 0; c < chunks; ++c) {
    const std::size_t begin = static_cast<std::size_t>(c) * kChunk;
    best = std::max(best, body(begin, std::min(kChunk, count - begin)));
  }
  return best;
}

}  // namespace

Int8Weights quantize_weights(const std::vector<float>& weights, int out) {
  Int8Weights result{std::vector<std::int8_t>(weights.size()), std::vector<float>(out, 1.0f)};
  const std::size_t fan_in = weights.size() / out;
  for (int o = 0; o < out; ++o) {
    const float* w = weights.data() + o * fan_in;
    float peak = 0;
    for (std::size_t i = 0; i < fan_in; ++i) peak = std::max(peak, std::abs(w[i]));
    if (peak > 0) result.scales[o] = peak / kWeightLevels;
    for (std::size_t i = 0; i < fan_in; ++i) {
      const float level = std::nearbyint(w[i] / result.scales[o]);
      result.levels[o * fan_in + i] =
          static_cast<std::int8_t>(std::min(kWeightLevels, std::max(-kWeightLevels, level)));
    }
  }
  return result;
}

float largest(const float* values, std::size_t count) {
  return over_chunks(count, [&](std::size_t begin, std::size_t size) {
    return chunk_largest(values + begin, size);
  });
}

void quantize(const float* values, std::size_t count, float factor, std::uint8_t* levels) {
  over_chunks(count, [&](std::size_t begin, std::size_t size) {
    chunk_quantize(values + begin, size, factor, levels + begin);
    return 0.0f;
  });
}

float add_residual(float* values,
                   const float* residual,
                   std::size_t count,
                   float scale,
                   float residual_scale,
                   bool relu) {
  const float floor = relu ? 0.0f : -INFINITY;
  return over_chunks(count, [&](std::size_t begin, std::size_t size) {
    return chunk_add(values + begin, residual + begin, size, scale, residual_scale, floor);
  });
}

}  // namespace ria
