// SPDX-License-Identifier: MIT
// Vectors of RIA_WIDTH floats and the functions on them; see panel_kernels_impl.h.
#pragma once

#include <cstdint>

#include "kernel/panel_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ria {
namespace {

constexpr int kWidth = RIA_WIDTH;
constexpr int kVectors = 3;  // of a panel row: with kRows they fill the registers
constexpr int kLanes = kWidth * kVectors;
constexpr int kRows = RIA_ROWS;
#if defined(__FMA__)
constexpr bool kFused = true;
#else
constexpr bool kFused = false;
#endif
constexpr int kKeyPanels =
    5;  // key panels whose scores are held at once: they stay in the L1 cache

typedef float Vf __attribute__((vector_size(4 * RIA_WIDTH)));
typedef std::int32_t Vi __attribute__((vector_size(4 * RIA_WIDTH)));
typedef Vf UnalignedVf __attribute__((aligned(4)));

inline Vf load(const float* p) { return *reinterpret_cast<const Vf*>(p); }
inline void store(float* p, Vf v) { *reinterpret_cast<Vf*>(p) = v; }
inline Vf load_unaligned(const float* p) { return *reinterpret_cast<const UnalignedVf*>(p); }
inline void store_unaligned(float* p, Vf v) { *reinterpret_cast<UnalignedVf*>(p) = v; }
inline Vi load(const std::int32_t* p) { return *reinterpret_cast<const Vi*>(p); }
inline void store(std::int32_t* p, Vi v) { *reinterpret_cast<Vi*>(p) = v; }
inline Vf splat(float x) { return x - Vf{}; }
inline Vf max(Vf a, Vf b) { return a > b ? a : b; }
inline Vf min(Vf a, Vf b) { return a < b ? a : b; }
inline Vf absolute(Vf a) { return reinterpret_cast<Vf>(reinterpret_cast<Vi>(a) & 0x7fffffff); }

/// Nearest integer of |x| < 2^22, as a float with the integer in its low bits.
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
inline Vi nearest(Vf x) {
  return reinterpret_cast<Vi>(x + kMagic) - static_cast<std::int32_t>(0x4b400000);
}

/// 2^x, relative error 1e-7; from -126 down it stays at the smallest normal number.
inline Vf exp2(Vf x) {
  x = max(x, splat(-126.0f));
#if defined(__AVX512F__) && RIA_WIDTH == 16
  const Vf whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  const Vf whole = (x + kMagic) - kMagic;
#endif
  const Vf f = x - whole;
  Vf p = f * 0.001327647129073739f + 0.009675540961325169f;
  p = p * f + 0.05550713092088699f;
  p = p * f + 0.24022120237350464f;
  p = p * f + 0.6931469440460205f;
  p = p * f + 1.0000001192092896f;
#if defined(__AVX512F__) && RIA_WIDTH == 16
  return _mm512_scalef_ps(p, whole);
#else
  return reinterpret_cast<Vf>(reinterpret_cast<Vi>(p) + (nearest(x) << 23));
#endif
}

/// x Phi(x), Phi by a rational function of erf with absolute error 4e-7.
inline Vf gelu(Vf x) {
  const Vf z = min(max(x * 0.70710678118654752f, splat(-3.925f)), splat(3.925f));
  const Vf u = z * z;
  Vf p = u * 2.046052031801082e-06f + 0.0002848187286872417f;
  p = p * u + 0.003771789837628603f;
  p = p * u + 0.052766889333724976f;
  p = p * u + 0.1905771642923355f;
  p = p * u + 1.1283791065216064f;
  Vf q = u * 3.804672815022059e-05f + 0.0011636597337201238f;
  q = q * u + 0.014981667511165142f;
  q = q * u + 0.11417567729949951f;
  q = q * u + 0.5022273659706116f;
  q = q * u + 1.0f;
  const Vf half = 0.5f * x;
  return half + half * (z * p / q);
}

}  // namespace
}  // namespace ria
