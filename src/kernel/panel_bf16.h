// SPDX-License-Identifier: MIT
// bfloat16 kernels; see panel_kernels_impl.h.
#pragma once

#include "kernel/panel_int8.h"

namespace ria {
namespace {

// bfloat16: the upper half of a float32, two in a word.

#if defined(__AVX512F__)
#define RIA_BF16_TARGET __attribute__((target("avx512bf16")))
#else
#define RIA_BF16_TARGET
#endif

void round_bf16(const float* x, int channels, std::uint32_t* pairs) {
  typedef std::uint32_t Vu __attribute__((vector_size(4 * RIA_WIDTH)));
  // To nearest, ties to even.
  const auto rounded = [](Vu bits) { return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16; };
  for (int c = 0; c < channels; c += 2) {
    for (int v = 0; v < kLanes; v += kWidth) {
      const Vu low = rounded(reinterpret_cast<Vu>(load(x + c * kLanes + v)));
      const Vu high =
          c + 1 < channels ? rounded(reinterpret_cast<Vu>(load(x + (c + 1) * kLanes + v))) : Vu{};
      *reinterpret_cast<Vu*>(pairs + c / 2 * kLanes + v) = low | (high << 16);
    }
  }
}

RIA_BF16_TARGET inline Vf dot_bf16(Vf sum, Vi a, Vi b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vf>(_mm512_dpbf16_ps(
      reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
#else
  constexpr std::int32_t kUpper = static_cast<std::int32_t>(0xffff0000u);
  sum += reinterpret_cast<Vf>(a << 16) * reinterpret_cast<Vf>(b << 16);
  return sum + reinterpret_cast<Vf>(a & kUpper) * reinterpret_cast<Vf>(b & kUpper);
#endif
}

RIA_BF16_TARGET void product_bf16(const std::uint32_t* weights,
                                  std::int64_t stride,
                                  int groups,
                                  const std::uint32_t* x,
                                  int k,
                                  int tokens,
                                  float* y,
                                  const Finish& finish) {
  const int used = vectors_of(tokens);
  for (int g = 0; g < groups; ++g) {
    for (int v = 0; v < used; ++v) {
      Vf sums[kRows] = {};
      for (int j = 0; j < k; ++j) {
        const Vi row = load(words(x + j * kLanes + v * kWidth));
        for (int i = 0; i < kRows; ++i) {
          sums[i] = dot_bf16(sums[i], splat_bytes(weights + j * kRows + i), row);
        }
      }
      for (int i = 0; i < kRows; ++i) {
        const float bias = finish.bias != nullptr ? finish.bias[g * kRows + i] : 0.0f;
        float* out = y + i * kLanes + v * kWidth;
        store(out, finished(sums[i], out, bias, finish.accumulate, finish.activation));
      }
    }
    weights += stride;
    y += kRows * kLanes;
  }
}

}  // namespace
}  // namespace ria
