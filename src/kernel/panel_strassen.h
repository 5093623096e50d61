// SPDX-License-Identifier: MIT
// Two panels by two groups of outputs in seven products instead of eight; see
// panel_kernels_impl.h.
#pragma once

#include "kernel/panel_float.h"

namespace ria {
namespace {

constexpr int kTile = kRows * kLanes;

/// S1 = A21 + A22, S2 = S1 - A11, S3 = A11 - A21, S4 = A12 - S2 of A = [first; second] panel.
void strassen_inputs(const float* first, const float* second, int k, int tokens, float* sums) {
  const int half = k * kLanes;
  for (int j = 0; j < half; j += kLanes) {
    for (int at = j; at < j + tokens; at += kWidth) {
      const Vf a11 = load(first + at), a12 = load(first + half + at);
      const Vf a21 = load(second + at), a22 = load(second + half + at);
      const Vf s1 = a21 + a22, s2 = s1 - a11;
      store(sums + at, s1);
      store(sums + half + at, s2);
      store(sums + 2 * half + at, a11 - a21);
      store(sums + 3 * half + at, a12 - s2);
    }
  }
}

/// A vector of T1 = B12 - B11, T2 = B22 - T1, T3 = B22 - B12 and B21 - T2. B11 and B21 are the
/// halves of the first group, B12 and B22 those of the second.
inline __attribute__((always_inline)) void sum_weights(const float* b, int quarter, float* sums) {
  const Vf b11 = load(b), b21 = load(b + quarter);
  const Vf b12 = load(b + 2 * quarter), b22 = load(b + 3 * quarter);
  const Vf t1 = b12 - b11, t2 = b22 - t1;
  store(sums, t1);
  store(sums + quarter, t2);
  store(sums + 2 * quarter, b22 - b12);
  store(sums + 3 * quarter, b21 - t2);
}

void strassen_weights(const float* weights, int k, float* sums) {
  for (int at = 0; at < k * kRows; at += kWidth) sum_weights(weights + at, k * kRows, sums + at);
}

/// What is done beside a product while its multiplications keep the CPU busy: asking for some of
/// the next weights,
struct ExpectWeights {
  const float* weights;
  inline __attribute__((always_inline)) void operator()(int j) const {
    if (j % (kLine / kRows) == 0) __builtin_prefetch(weights + j * kRows);
  }
};

/// or making their sums.
struct SumWeights {
  const float* weights;
  float* sums;
  int quarter;
  inline __attribute__((always_inline)) void operator()(int j) const {
    if (j % (kWidth / kRows) == 0) sum_weights(weights + j * kRows, quarter, sums + j * kRows);
  }
};

/// tile = start + w x; no start: 0. Not inlined: the registers are all taken.
template <int kUsed, typename Beside>
__attribute__((noinline)) void add_product(
    const float* w, const float* x, int k, const float* start, float* tile, Beside beside) {
  Vf sums[kRows][kUsed];
  zero(sums);
  if (start != nullptr) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
      for (int v = 0; v < kUsed; ++v) sums[i][v] = load(start + i * kLanes + v * kWidth);
    }
  }
  for (int j = 0; j < k; ++j) {
    beside(j);
    multiply_add<kUsed>(w + j * kRows, 1, kRows, x + j * kLanes, 1, sums);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int v = 0; v < kUsed; ++v) store(tile + i * kLanes + v * kWidth, sums[i][v]);
  }
}

/// y = finish(tile + more); more may be absent.
template <int kUsed>
__attribute__((noinline)) void finish_tile(
    const float* tile, const float* more, float* y, const float* bias, const Finish& finish) {
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kUsed; ++v) {
      const int at = i * kLanes + v * kWidth;
      const Vf sum = more == nullptr ? load(tile + at) : load(tile + at) + load(more + at);
      const float b = bias != nullptr ? bias[i] : 0.0f;
      store(y + at, finished(sum, y + at, b, finish.accumulate, finish.activation));
    }
  }
}

/// Winograd's form of Strassen's product, in an order in which a product starts from the one
/// before: C11 = P1 + P2, U2 = P1 + P6, U3 = U2 + P7, C21 = U3 - P4, C22 = U3 + P5,
/// C12 = U2 + P5 + P3.
template <int kUsed>
void strassen_used(const StrassenTask& task) {
  const int k = task.k, q = k * kRows, half = k * kLanes;
  const float *w = task.weights, *t = task.weight_sums, *s = task.sums;
  const float *a1 = task.x[0], *a2 = task.x[1];
  float *y1 = task.y[0], *y2 = task.y[1];
  const Finish& finish = task.finish;
  const float* bias = finish.bias;
  const float* more_bias = bias != nullptr ? bias + kRows : nullptr;
  const float* next = task.next_weights != nullptr ? task.next_weights : w;
  alignas(64) float p[kTile], u2[kTile], u3[kTile], c[kTile];
  for (int line = 0; line < 2 * kTile; line += kLine) {
    __builtin_prefetch(y1 + line, 1);
    __builtin_prefetch(y2 + line, 1);
  }
  add_product<kUsed>(w, a1, k, nullptr, p, ExpectWeights{next});               // P1 = A11 B11
  add_product<kUsed>(w + q, a1 + half, k, p, c, ExpectWeights{next + q});      // P2 = A12 B21
  finish_tile<kUsed>(c, nullptr, y1, bias, finish);                            // C11
  add_product<kUsed>(t + q, s + half, k, p, u2, ExpectWeights{next + 2 * q});  // P6 = S2 T2
  add_product<kUsed>(
      t + 2 * q, s + 2 * half, k, u2, u3, ExpectWeights{next + 3 * q});  // P7 = S3 T3
  add_product<kUsed>(t + 3 * q, a2 + half, k, u3, c, ExpectWeights{w});  // P4 = A22 T4
  finish_tile<kUsed>(c, nullptr, y2, bias, finish);                      // C21
  if (task.next_weights != nullptr) {                                    // P5 = S1 T1
    add_product<kUsed>(t, s, k, nullptr, p, SumWeights{next, task.next_sums, q});
  } else {
    add_product<kUsed>(t, s, k, nullptr, p, ExpectWeights{w});
  }
  finish_tile<kUsed>(p, u3, y2 + kTile, more_bias, finish);  // C22
  for (int i = 0; i < kTile; i += kLanes) {
    for (int v = 0; v < kUsed * kWidth; v += kWidth) {
      store(p + i + v, load(p + i + v) + load(u2 + i + v));
    }
  }
  add_product<kUsed>(w + 3 * q, s + 3 * half, k, p, c, ExpectWeights{w});  // P3 = S4 B22
  finish_tile<kUsed>(c, nullptr, y1 + kTile, more_bias, finish);           // C12
}

void strassen(const StrassenTask& task) {
  switch (vectors_of(task.tokens)) {
    case 1:
      return strassen_used<1>(task);
    case 2:
      return strassen_used<2>(task);
    default:
      return strassen_used<3>(task);
  }
}

}  // namespace
}  // namespace ria
