// SPDX-License-Identifier: MIT
// The loops of scan_kernels.h for vectors of RIA_WIDTH floats. The file that includes this gives
// its instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernel/scan_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ria {
namespace {

constexpr int kWidth = RIA_WIDTH;
/// Queries and rows of a tile: their sums fill the registers. A single query takes one row after
/// the other, because memory is read fastest from front to back.
constexpr int kQueries = RIA_WIDTH == 16 ? 4 : 2;
constexpr int kRows = RIA_WIDTH == 16 ? 4 : 2;
/// Sums of floats that a row has by itself, so that one need not wait for the other.
constexpr int kChains = RIA_WIDTH == 16 ? 1 : 2;

typedef float Vf __attribute__((vector_size(4 * RIA_WIDTH)));
typedef std::int32_t Vi __attribute__((vector_size(4 * RIA_WIDTH)));
typedef std::uint16_t Vh __attribute__((vector_size(2 * RIA_WIDTH)));

inline Vf widen(const float* p) { return *reinterpret_cast<const Vf*>(p); }

inline Vf widen(const std::uint16_t* p) {
#if RIA_WIDTH == 16
  return _mm512_cvtph_ps(*reinterpret_cast<const __m256i*>(p));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(*reinterpret_cast<const __m128i*>(p));
#else
  // A float with the half's bits is 2^112 times too small, in the range of subnormal halves too.
  const Vi bits = __builtin_convertvector(*reinterpret_cast<const Vh*>(p), Vi);
  const Vf size = reinterpret_cast<Vf>((bits & 0x7fff) << 13) * 0x1p112f;
  return reinterpret_cast<Vf>(reinterpret_cast<Vi>(size) | ((bits & 0x8000) << 16));
#endif
}

typedef float Vf4 __attribute__((vector_size(16)));
typedef std::int32_t Vi4 __attribute__((vector_size(16)));

/// The sum of all lanes: of fours first, then of the four.
template <typename Four, typename V>
inline auto total(V v) {
  Four parts[kWidth / 4];
  std::memcpy(parts, &v, sizeof v);
  Four sum = parts[0];
#pragma GCC unroll 4
  for (int i = 1; i < kWidth / 4; ++i) sum += parts[i];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/// Floats and halves: a vector of sums for each pair.
template <typename Row>
struct FloatSums {
  using Query = float;
  struct Values {
    Vf part[kChains];
  };
  using Sum = Values;
  static constexpr int kStep = kWidth * kChains;
  template <typename T>
  static Values all(const T* p) {
    Values values;
#pragma GCC unroll 2
    for (int i = 0; i < kChains; ++i) values.part[i] = widen(p + i * kWidth);
    return values;
  }
  static Values row(const Row* p) { return all(p); }
  static Values query(const Query* p) { return all(p); }
  static void add(const Values& x, const Values& y, Sum& sum) {
#pragma GCC unroll 2
    for (int i = 0; i < kChains; ++i) sum.part[i] += x.part[i] * y.part[i];
  }
  static float finish(const Sum& sum) {
    return total<Vf4>(kChains == 1 ? sum.part[0] : sum.part[0] + sum.part[kChains - 1]);
  }
};

/// Bytes against 16-bit queries, sums of 32 bits.
struct ByteSums {
  using Query = std::int16_t;
  using Sum = Vi;
  static constexpr int kStep = 2 * kWidth;
#if RIA_WIDTH == 16
  using Values = __m512i;
  static Values row(const std::int8_t* p) {
    return _mm512_cvtepi8_epi16(*reinterpret_cast<const __m256i*>(p));
  }
  static Values query(const Query* p) { return *reinterpret_cast<const __m512i*>(p); }
  static void add(Values x, Values y, Sum& sum) {
    sum = reinterpret_cast<Sum>(_mm512_dpwssd_epi32(reinterpret_cast<__m512i>(sum), x, y));
  }
#elif defined(__AVX2__)
  using Values = __m256i;
  static Values row(const std::int8_t* p) {
    return _mm256_cvtepi8_epi16(*reinterpret_cast<const __m128i*>(p));
  }
  static Values query(const Query* p) { return *reinterpret_cast<const __m256i*>(p); }
  static void add(Values x, Values y, Sum& sum) {
    sum += reinterpret_cast<Sum>(_mm256_madd_epi16(x, y));
  }
#else
  struct Values {
    Vi low, high;
  };
  template <typename T>
  static Values both(const T* p) {
    typedef T Narrow __attribute__((vector_size(sizeof(T) * kWidth)));
    const auto* parts = reinterpret_cast<const Narrow*>(p);
    return {__builtin_convertvector(parts[0], Vi), __builtin_convertvector(parts[1], Vi)};
  }
  static Values row(const std::int8_t* p) { return both(p); }
  static Values query(const Query* p) { return both(p); }
  static void add(const Values& x, const Values& y, Sum& sum) {
    sum += x.low * y.low + x.high * y.high;
  }
#endif
  static float finish(Sum sum) { return static_cast<float>(total<Vi4>(sum)); }
};

template <typename Sums, int kQ, int kR, typename Row>
inline __attribute__((always_inline)) void tile(const ScanTask& task, int first_query, int row) {
  const auto values = static_cast<std::int64_t>(task.values);
  const Row* x = static_cast<const Row*>(task.rows) + row * values;
  const auto* y = static_cast<const typename Sums::Query*>(task.queries) + first_query * values;
  typename Sums::Sum sums[kQ][kR];
#pragma GCC unroll 4
  for (int q = 0; q < kQ; ++q) {
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) sums[q][r] = typename Sums::Sum{};
  }
  for (std::int64_t i = 0; i < values; i += Sums::kStep) {
    typename Sums::Values a[kR];
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) a[r] = Sums::row(x + r * values + i);
#pragma GCC unroll 4
    for (int q = 0; q < kQ; ++q) {
      const typename Sums::Values b = Sums::query(y + q * values + i);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) Sums::add(a[r], b, sums[q][r]);
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < kQ; ++q) {
    float* out = task.sums + static_cast<std::int64_t>(first_query + q) * task.row_count + row;
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) out[r] = Sums::finish(sums[q][r]);
  }
}

/// All rows against kQ queries.
template <typename Sums, int kQ, int kR, typename Row>
void strip(const ScanTask& task, int first_query) {
  int row = 0;
  for (; row + kR <= task.row_count; row += kR) tile<Sums, kQ, kR, Row>(task, first_query, row);
  for (; row < task.row_count; ++row) tile<Sums, kQ, 1, Row>(task, first_query, row);
}

template <typename Sums, typename Row>
void scan(const ScanTask& task) {
  int q = 0;
  if (task.query_count >= kQueries) {  // tiles read several rows at once
    const auto* bytes = static_cast<const char*>(task.rows);
    const std::int64_t size = std::int64_t{task.row_count} * task.values * sizeof(Row);
    for (std::int64_t i = 0; i < size; i += 64) __builtin_prefetch(bytes + i, 0, 2);
  }
  for (; q + kQueries <= task.query_count; q += kQueries) {
    strip<Sums, kQueries, kRows, Row>(task, q);
  }
  for (; q < task.query_count; ++q) strip<Sums, 1, 1, Row>(task, q);
}

/// A register looks up as many places at once as it has bytes. Two entries fit into a byte, and
/// sums of 16 bits take the even and the odd places in turn.
#if defined(__AVX2__)
#if RIA_WIDTH == 16
using Bytes = __m512i;
inline Bytes both_of(const std::uint8_t* table) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
}
inline Bytes looked_up(Bytes table, Bytes at) { return _mm512_shuffle_epi8(table, at); }
inline Bytes low_bits(Bytes v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
inline Bytes added_bytes(Bytes a, Bytes b) { return _mm512_add_epi8(a, b); }
inline Bytes added(Bytes a, Bytes b) { return _mm512_add_epi16(a, b); }
template <int kBits>
inline Bytes shifted(Bytes v) {
  return _mm512_srli_epi16(v, kBits);
}
#else
using Bytes = __m256i;
inline Bytes both_of(const std::uint8_t* table) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
}
inline Bytes looked_up(Bytes table, Bytes at) { return _mm256_shuffle_epi8(table, at); }
inline Bytes low_bits(Bytes v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
inline Bytes added_bytes(Bytes a, Bytes b) { return _mm256_add_epi8(a, b); }
inline Bytes added(Bytes a, Bytes b) { return _mm256_add_epi16(a, b); }
template <int kBits>
inline Bytes shifted(Bytes v) {
  return _mm256_srli_epi16(v, kBits);
}
#endif

/// The next group's codes are behind this one's: asked for as far ahead as memory takes, past the
/// ends of pages, where the CPU stops by itself.
constexpr int kCodesAhead = 8192;

void add_codes(const CodeTask& task) {
  constexpr int kParts = kCodeGroup / static_cast<int>(sizeof(Bytes));
  for (int part = 0; part < kParts; ++part) {
    // `all` adds even places and, 256 times, odd ones, modulo 2^16; `odd` the odd ones alone.
    Bytes all{}, odd{};
    for (int pair = 0; pair < task.pairs; ++pair) {
      if (part == 0 && pair % 2 == 0) {  // two lines at a time
        __builtin_prefetch(task.codes + pair * kCodeGroup + kCodesAhead);
        __builtin_prefetch(task.codes + (pair + 1) * kCodeGroup + kCodesAhead);
      }
      Bytes code;
      std::memcpy(&code,
                  task.codes + pair * kCodeGroup + part * static_cast<int>(sizeof(Bytes)),
                  sizeof code);
      const std::uint8_t* table = task.tables + pair * 32;
      const Bytes two = added_bytes(looked_up(both_of(table), low_bits(code)),
                                    looked_up(both_of(table + 16), low_bits(shifted<4>(code))));
      all = added(all, two);
      odd = added(odd, shifted<8>(two));
    }
    std::uint16_t sums[2][sizeof(Bytes) / 2];
    std::memcpy(sums[0], &all, sizeof all);
    std::memcpy(sums[1], &odd, sizeof odd);
    std::uint16_t* out = task.sums + part * static_cast<int>(sizeof(Bytes));
    for (std::size_t i = 0; i < sizeof(Bytes) / 2; ++i) {
      out[2 * i] = static_cast<std::uint16_t>(sums[0][i] - (sums[1][i] << 8));
      out[2 * i + 1] = sums[1][i];
    }
  }
}
#else
void add_codes(const CodeTask& task) {
  std::uint16_t sums[kCodeGroup] = {};
  for (int pair = 0; pair < task.pairs; ++pair) {
    const std::uint8_t* code = task.codes + pair * kCodeGroup;
    const std::uint8_t* table = task.tables + pair * 32;
    for (int i = 0; i < kCodeGroup; ++i) {
      sums[i] =
          static_cast<std::uint16_t>(sums[i] + table[code[i] & 15] + table[16 + (code[i] >> 4)]);
    }
  }
  std::memcpy(task.sums, sums, sizeof sums);
}
#endif

int codes(const CodeTask& task) {
  add_codes(task);
  std::uint16_t most = 0;
  for (int i = 0; i < kCodeGroup; ++i) {
    const std::uint32_t beside = std::uint32_t{task.errors[i]} * task.error_factor >> 16;
    task.sums[i] = static_cast<std::uint16_t>(task.sums[i] + beside);
    most = std::max(most, task.sums[i]);
  }
  return most;
}

constexpr ScanKernels make_scan_kernels(const char* name) {
  return {name,
          scan<FloatSums<float>, float>,
          scan<FloatSums<std::uint16_t>, std::uint16_t>,
          scan<ByteSums, std::int8_t>,
          codes};
}

}  // namespace
}  // namespace ria
