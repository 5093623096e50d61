// SPDX-License-Identifier: MIT
#include "rerank/mutual.h"

#include <algorithm>
#include <limits>

#include "nn/gemm.h"

namespace ria {

std::vector<std::pair<int, int>> mutual_neighbours(const Matrix& a, const Matrix& b) {
  constexpr Eigen::Index kRows = 1024;  // of a at once: all products would be large
  const Matrix transposed = b.transpose();
  std::vector<int> of_a(a.rows(), -1), of_b(b.rows(), -1);
  Vector best = Vector::Constant(b.rows(), -std::numeric_limits<float>::infinity());
  for (Eigen::Index first = 0; first < a.rows() && b.rows() > 0; first += kRows) {
    const Matrix alike =
        product(Matrix(a.middleRows(first, std::min(kRows, a.rows() - first))), transposed);
    for (Eigen::Index i = 0; i < alike.rows(); ++i) {
      const float* row = alike.row(i).data();
      of_a[first + i] = static_cast<int>(std::max_element(row, row + alike.cols()) - row);
      for (Eigen::Index j = 0; j < alike.cols(); ++j) {
        if (row[j] <= best[j]) continue;
        best[j] = row[j];
        of_b[j] = static_cast<int>(first + i);
      }
    }
  }
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i] >= 0 && of_b[of_a[i]] == static_cast<int>(i)) {
      pairs.emplace_back(static_cast<int>(i), of_a[i]);
    }
  }
  return pairs;
}

}  // namespace ria
