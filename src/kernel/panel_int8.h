// SPDX-License-Identifier: MIT
// 8-bit kernels; see panel_kernels_impl.h.
#pragma once

#include "kernel/panel_float.h"

namespace ria {
namespace {

// Integers. Products of unsigned weights with signed activations; AVX2 adds them up in 16 bits,
// which limits the levels of both so that no sum of `kDepth` products can overflow.

#if defined(__AVX512VNNI__)
constexpr int kDepth = 4, kWeightLevels = 127, kActivationLevels = 127;
#elif defined(__AVX2__)
constexpr int kDepth = 12, kWeightLevels = 42, kActivationLevels = 64;
static_assert(kDepth / 2 * 2 * kWeightLevels * kActivationLevels < 32768);
#else
constexpr int kDepth = 4, kWeightLevels = 127, kActivationLevels = 127;
#endif
constexpr int kKeyLevels = 63, kQueryLevels = 64;  // four products in 16 bits
static_assert(4 * (2 * kKeyLevels + 1) * kQueryLevels < 32768);
constexpr int kKeyOffset = kKeyLevels + 1;
constexpr int kValueLevels = 2047, kSoftmaxLevels = 4095;
static_assert(static_cast<std::int64_t>(kKeyPanels) * kLanes * kValueLevels * kSoftmaxLevels <
              (1LL << 31));

inline Vi splat_bytes(const void* p) {
  std::int32_t four;
  __builtin_memcpy(&four, p, 4);
  return four - Vi{};
}
/// Makes the compiler read through p again instead of keeping in registers what it read before: the
/// tile needs them all.
inline void reload(const std::int32_t*& p) { asm volatile("" : "+r"(p)); }
inline const std::int32_t* words(const void* p) { return static_cast<const std::int32_t*>(p); }

/// sum + the products of kDwords dwords of unsigned bytes `u` (`step` bytes apart) and signed
/// bytes.
template <int kDwords>
inline __attribute__((always_inline)) Vi dot_bytes(Vi sum,
                                                   const Vi (&u)[kDwords],
                                                   const std::int32_t* s) {
#if defined(__AVX512VNNI__)
  for (int d = 0; d < kDwords; ++d) {
    sum =
        reinterpret_cast<Vi>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                 reinterpret_cast<__m512i>(u[d]),
                                                 reinterpret_cast<__m512i>(load(s + d * kLanes))));
  }
  return sum;
#elif defined(__AVX2__) && RIA_WIDTH == 8
  const auto at = [&](int d) {
    return _mm256_maddubs_epi16(reinterpret_cast<__m256i>(u[d]),
                                reinterpret_cast<__m256i>(load(s + d * kLanes)));
  };
  __m256i pairs = at(0);
  for (int d = 1; d < kDwords; ++d) pairs = _mm256_add_epi16(pairs, at(d));
  return sum + reinterpret_cast<Vi>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#else
  for (int d = 0; d < kDwords; ++d) {
    const Vi bytes = load(s + d * kLanes);
    for (int b = 0; b < 4; ++b) sum += ((u[d] >> (8 * b)) & 255) * ((bytes << (24 - 8 * b)) >> 24);
  }
  return sum;
#endif
}

inline Vi dot_shorts(Vi sum, Vi a, Vi b) {
#if defined(__AVX512VNNI__)
  return reinterpret_cast<Vi>(_mm512_dpwssd_epi32(
      reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__) && RIA_WIDTH == 8
  return sum + reinterpret_cast<Vi>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

inline Vf to_float(Vi x) { return __builtin_convertvector(x, Vf); }
inline bool any(Vi mask) {
  std::int32_t all = 0;
  for (int i = 0; i < kWidth; ++i) all |= mask[i];
  return all != 0;
}

int find_outliers(const float* x, int channels, float limit, int* list, int room) {
  Vf bound[kVectors];
  bool found = false;
  for (int v = 0; v < kVectors; ++v) {
    Vf squares[2] = {}, largest = {};
    for (int c = 0; c < channels; ++c) {
      const Vf square = load(x + c * kLanes + v * kWidth) * load(x + c * kLanes + v * kWidth);
      squares[c & 1] += square;
      largest = max(largest, square);
    }
    bound[v] = (squares[0] + squares[1]) * (limit * limit / static_cast<float>(channels));
    found = found || any(largest > bound[v]);
  }
  int count = 0;
  for (int c = 0; found && c < channels; ++c) {
    Vi beyond = {};
    for (int v = 0; v < kVectors; ++v) {
      const Vf value = load(x + c * kLanes + v * kWidth);
      beyond |= value * value > bound[v];
    }
    if (!any(beyond)) continue;
    if (count < room) list[count] = c;
    ++count;
  }
  return count;
}

void quantize(const float* x, int channels, std::int8_t* q, const LaneScales& scales) {
  const int padded = (channels + kDepth - 1) / kDepth * kDepth;
  for (int v = 0; v < kLanes; v += kWidth) {
    Vf low = {}, high = {};  // zero is always inside and exact
    for (int c = 0; c < channels; ++c) {
      const Vf value = load(x + c * kLanes + v);
      low = min(low, value);
      high = max(high, value);
    }
    const Vf scale = max((high - low) * (1.0f / (2 * kActivationLevels - 1)), splat(1e-30f));
    const Vf inverse = 1.0f / scale;
    const Vi zero = -kActivationLevels - nearest(low * inverse);
    Vi sum = {};
    for (int c = 0; c < padded; c += 4) {
      Vi bytes = {};
      for (int b = 0; b < 4 && c + b < channels; ++b) {
        Vi value = nearest(load(x + (c + b) * kLanes + v) * inverse) + zero;
        value = value < -kActivationLevels ? Vi{} - kActivationLevels : value;
        value = value > kActivationLevels - 1 ? Vi{} + (kActivationLevels - 1) : value;
        sum += value;
        bytes |= (value & 255) << (8 * b);
      }
      store(reinterpret_cast<std::int32_t*>(q) + c / 4 * kLanes + v, bytes);
    }
    store(scales.scale + v, scale);
    store(scales.zero + v, zero);
    store(scales.sum + v, sum);
  }
}

template <int kUsed>
void product_int8_used(const std::uint8_t* weights,
                       std::int64_t stride,
                       int groups,
                       const std::int8_t* x,
                       int k,
                       std::int32_t* sums) {
  constexpr int kDwords = kDepth / 4;
  for (int g = 0; g < groups; ++g) {
    Vi tile[kRows][kUsed];
    zero(tile);
    const std::uint8_t* w = weights;
    const std::int32_t* s = words(x);
    for (int j = 0; j < k; j += kDepth) {
      for (int i = 0; i < kRows; ++i) {
        Vi u[kDwords];
        for (int d = 0; d < kDwords; ++d) u[d] = splat_bytes(w + (d * kRows + i) * 4);
        for (int v = 0; v < kUsed; ++v)
          tile[i][v] = dot_bytes<kDwords>(tile[i][v], u, s + v * kWidth);
      }
      w += kDepth * kRows;
      s += kDwords * kLanes;
    }
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kUsed; ++v) store(sums + i * kLanes + v * kWidth, tile[i][v]);
    }
    weights += stride;
    sums += kRows * kLanes;
  }
}

void product_int8(const std::uint8_t* weights,
                  std::int64_t stride,
                  int groups,
                  const std::int8_t* x,
                  int k,
                  int tokens,
                  std::int32_t* sums) {
  switch (vectors_of(tokens)) {
    case 1:
      return product_int8_used<1>(weights, stride, groups, x, k, sums);
    case 2:
      return product_int8_used<2>(weights, stride, groups, x, k, sums);
    default:
      return product_int8_used<3>(weights, stride, groups, x, k, sums);
  }
}

void dequantize(const std::int32_t* sums,
                int rows,
                const float* weight_scale,
                const std::int32_t* weight_sum,
                const LaneScales& scales,
                float* y,
                const Finish& finish) {
  for (int v = 0; v < kLanes; v += kWidth) {
    const Vf scale = load(scales.scale + v);
    const Vi zero = load(scales.zero + v), offset = load(scales.sum + v) * kWeightLevels;
    for (int r = 0; r < rows; ++r) {
      const Vi exact = load(sums + r * kLanes + v) - offset - zero * weight_sum[r];
      float* out = y + r * kLanes + v;
      const float bias = finish.bias != nullptr ? finish.bias[r] : 0.0f;
      store(out,
            finished(to_float(exact) * (scale * weight_scale[r]),
                     out,
                     bias,
                     finish.accumulate,
                     finish.activation));
    }
  }
}

}  // namespace
}  // namespace ria
