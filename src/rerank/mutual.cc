// SPDX-License-Identifier: MIT
#include "rerank/mutual.h"

#include "nn/nearest.h"

namespace ria {

std::vector<std::pair<int, int>> mutual_neighbours(const Matrix& a, const Matrix& b) {
  const NearestRows nearest = nearest_rows(a, b);
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < static_cast<int>(nearest.of_a.size()); ++i) {
    const int j = nearest.of_a[i];
    if (j >= 0 && nearest.of_b[j] == i) pairs.emplace_back(i, j);
  }
  return pairs;
}

}  // namespace ria
