// SPDX-License-Identifier: MIT
// Least distances of rows of bits; see panel_kernels_impl.h.
#pragma once

#include "kernel/panel_int8.h"

namespace ria {
namespace {

typedef std::uint32_t Vu __attribute__((vector_size(4 * RIA_WIDTH)));

inline Vu load(const std::uint32_t* p) { return *reinterpret_cast<const Vu*>(p); }
inline Vi smaller(Vi a, Vi b) { return a < b ? a : b; }

/// Bits of the numbers from 0 to 15, a byte each, over and over.
inline __attribute__((always_inline)) Vu counts_of_nibbles() {
  constexpr std::uint32_t kCounts[] = {0x02010100, 0x03020201, 0x03020201, 0x04030302};
  Vu table;
  for (int i = 0; i < kWidth; ++i) table[i] = kCounts[i % 4];
  return table;
}

/// Set bits of each byte.
inline __attribute__((always_inline)) Vu count_in_bytes(Vu x) {
#if defined(__AVX512BW__) && RIA_WIDTH == 16
  const auto count = [](Vu nibbles) {
    return reinterpret_cast<Vu>(
        _mm512_shuffle_epi8(reinterpret_cast<__m512i>(counts_of_nibbles()),
                            reinterpret_cast<__m512i>(nibbles & 0x0f0f0f0fu)));
  };
  return count(x) + count(x >> 4);
#elif defined(__AVX2__) && RIA_WIDTH == 8
  const auto count = [](Vu nibbles) {
    return reinterpret_cast<Vu>(
        _mm256_shuffle_epi8(reinterpret_cast<__m256i>(counts_of_nibbles()),
                            reinterpret_cast<__m256i>(nibbles & 0x0f0f0f0fu)));
  };
  return count(x) + count(x >> 4);
#else
  x -= (x >> 1) & 0x55555555u;
  x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
  return (x + (x >> 4)) & 0x0f0f0f0fu;
#endif
}

/// Counts are kept in bytes, and added up before they can overflow.
struct CountBytes {
  static constexpr int kWords = 31;  ///< 8 bits each, at most 255
  static __attribute__((always_inline)) Vu count(Vu x) { return count_in_bytes(x); }
  static __attribute__((always_inline)) Vi total(Vu counts) {
    const Vu pairs = (counts & 0x00ff00ffu) + ((counts >> 8) & 0x00ff00ffu);
    return reinterpret_cast<Vi>((pairs + (pairs >> 16)) & 0xffffu);
  }
};

constexpr int kBitRows = RIA_ROWS / 2;  // counting needs registers too

/// Distances of kBitRows rows to the panel's lanes.
template <typename Count>
inline __attribute__((always_inline)) void bit_distances(const NearestBitsTask& task,
                                                         const std::uint8_t* const (&a)[kBitRows],
                                                         Vi (&distances)[kBitRows][kVectors]) {
  for (int i = 0; i < kBitRows; ++i) {
    for (int v = 0; v < kVectors; ++v) distances[i][v] = Vi{};
  }
  for (int begin = 0; begin < task.words; begin += Count::kWords) {
    const int end = begin + Count::kWords < task.words ? begin + Count::kWords : task.words;
    Vu counts[kBitRows][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kBitRows; ++i) {
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) counts[i][v] = Vu{};
    }
    for (int word = begin; word < end; ++word) {
      const std::uint32_t* x = task.panel + word * kLanes;
#pragma GCC unroll 8
      for (int i = 0; i < kBitRows; ++i) {
        const Vu bits = reinterpret_cast<Vu>(splat_bytes(a[i] + 4 * word));
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) {
          counts[i][v] += Count::count(bits ^ load(x + v * kWidth));
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kBitRows; ++i) {
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) distances[i][v] += Count::total(counts[i][v]);
    }
  }
}

template <typename Count>
inline __attribute__((always_inline)) void nearest_bits_by(const NearestBitsTask& task) {
  Vi column_best[kVectors], lane[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    column_best[v] = load(task.column_best + v * kWidth);
    for (int i = 0; i < kWidth; ++i) lane[v][i] = task.first_lane + v * kWidth + i;
  }
  for (int first = 0; first < task.count; first += kBitRows) {
    const std::uint8_t* a[kBitRows];
    int number[kBitRows];
    for (int i = 0; i < kBitRows; ++i) {  // past the end the last row again, which changes nothing
      number[i] = first + i < task.count ? first + i : task.count - 1;
      a[i] = task.rows + number[i] * 4 * static_cast<std::int64_t>(task.words);
    }
    Vi distances[kBitRows][kVectors];
    bit_distances<Count>(task, a, distances);
#pragma GCC unroll 8
    for (int i = 0; i < kBitRows; ++i) {
      std::int32_t* best_at = task.row_best + number[i] * kWidth;
      Vi best = load(best_at);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) {
        const Vi far = distances[i][v] << 16;
        best = smaller(best, far + lane[v]);
        column_best[v] = smaller(column_best[v], far + number[i]);
      }
      store(best_at, best);
    }
  }
  for (int v = 0; v < kVectors; ++v) store(task.column_best + v * kWidth, column_best[v]);
}

#if defined(__AVX512VNNI__) && RIA_WIDTH == 16
/// Most CPUs of this kind count the bits of whole words. Assembly, because the file is compiled for
/// those that do not.
struct CountWords {
  static constexpr int kWords = 1 << 20;
  static __attribute__((always_inline)) Vu count(Vu x) {
    Vu counts;
    asm("vpopcntd %1, %0" : "=v"(counts) : "v"(x));
    return counts;
  }
  static __attribute__((always_inline)) Vi total(Vu counts) { return reinterpret_cast<Vi>(counts); }
};
#endif

void nearest_bits(const NearestBitsTask& task) {
#if defined(__AVX512VNNI__) && RIA_WIDTH == 16
  if (__builtin_cpu_supports("avx512vpopcntdq")) return nearest_bits_by<CountWords>(task);
#endif
  nearest_bits_by<CountBytes>(task);
}

/// Rows of one list and of another, pair by pair.
void row_distances(
    const std::uint8_t* a, const std::uint8_t* b, int count, int words, std::int32_t* distances) {
  for (int i = 0; i < count; ++i) {
    std::int32_t distance = 0;
    int left = words;
    for (; left >= 2; left -= 2, a += 8, b += 8) {
      std::uint64_t x, y;
      __builtin_memcpy(&x, a, 8);
      __builtin_memcpy(&y, b, 8);
      distance += __builtin_popcountll(x ^ y);
    }
    if (left > 0) {
      std::uint32_t x, y;
      __builtin_memcpy(&x, a, 4);
      __builtin_memcpy(&y, b, 4);
      distance += __builtin_popcount(x ^ y);
      a += 4;
      b += 4;
    }
    distances[i] = distance;
  }
}

/// Whole vectors at a time.
void weighted_sum(
    const float* x, std::int64_t stride, const float* weights, int taps, int count, float* sums) {
  for (int first = 0; first < count; first += kWidth) {
    Vf sum{};
    for (int tap = 0; tap < taps; ++tap) {
      Vf values;
      __builtin_memcpy(&values, x + first + tap * stride, sizeof values);
      sum += weights[tap] * values;
    }
    __builtin_memcpy(sums + first, &sum, sizeof sum);
  }
}

}  // namespace
}  // namespace ria
