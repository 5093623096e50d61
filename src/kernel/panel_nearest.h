// SPDX-License-Identifier: MIT
// Largest products of rows with a panel; see panel_kernels_impl.h.
#pragma once

#include "kernel/panel_vector.h"

namespace ria {
namespace {

/// best = sum where the sum is larger: what came first wins a tie.
inline __attribute__((always_inline)) void take_larger(Vf sum, Vi at, Vf& best, Vi& index) {
  const Vi larger = sum > best;
  best = larger ? sum : best;
  index = larger ? at : index;
}

/// The sums of a tile never leave the registers: they are compared where they were made.
void nearest(const NearestTask& task) {
  Vf column_best[kVectors];
  Vi column_index[kVectors], lane[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    column_best[v] = load(task.column_best + v * kWidth);
    column_index[v] = load(task.column_index + v * kWidth);
    for (int i = 0; i < kWidth; ++i) lane[v][i] = task.first_lane + v * kWidth + i;
  }
  for (int first = 0; first < task.count; first += kRows) {
    const float* a[kRows];
    for (int i = 0; i < kRows; ++i) {  // past the end the last row again, which wins nothing
      const int row = first + i < task.count ? first + i : task.count - 1;
      a[i] = task.rows + row * static_cast<std::int64_t>(task.k);
    }
    Vf sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sums[i][v] = Vf{};
    }
    const float* x = task.panel;
    for (int j = 0; j < task.k; ++j, x += kLanes) {
      Vf values[kVectors];
      for (int v = 0; v < kVectors; ++v) values[v] = load(x + v * kWidth);
      for (int i = 0; i < kRows; ++i) {
        for (int v = 0; v < kVectors; ++v) sums[i][v] += a[i][j] * values[v];
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      float* best_at = task.row_best + (first + i) * kWidth;
      std::int32_t* index_at = task.row_index + (first + i) * kWidth;
      Vf best = load(best_at);
      Vi index = load(index_at);
      const Vi row = task.first_row + first + i - Vi{};
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) {
        take_larger(sums[i][v], lane[v], best, index);
        take_larger(sums[i][v], row, column_best[v], column_index[v]);
      }
      store(best_at, best);
      store(index_at, index);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    store(task.column_best + v * kWidth, column_best[v]);
    store(task.column_index + v * kWidth, column_index[v]);
  }
}

}  // namespace
}  // namespace ria
