// SPDX-License-Identifier: MIT
#include "aggregate/features.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "nn/gemm.h"

namespace ria {

Vector checked_square_sums(const PatchFeatures& features, int expected_dim) {
  const Matrix& x = features.patches;
  if (x.rows() == 0) throw std::invalid_argument("no patch features to aggregate");
  if (x.cols() != expected_dim) {
    throw std::invalid_argument(fmt::format(
        "patch features have {} columns, the aggregator expects {}", x.cols(), expected_dim));
  }
  // A sum of squares is finite only if every value is.
  const Vector sums = row_square_sums(x);
  for (Eigen::Index i = 0; i < sums.size(); ++i) {
    if (!std::isfinite(sums[i])) {
      throw std::invalid_argument(
          fmt::format("patch {} holds NaN, infinity or values too large", i));
    }
  }
  return sums;
}

Vector inverse_norms(const Vector& square_sums) {
  return square_sums.unaryExpr([](float sum) { return sum > 0 ? 1 / std::sqrt(sum) : 0.0f; });
}

Matrix normalized_rows(const Matrix& patches) {
  return inverse_norms(row_square_sums(patches)).asDiagonal() * patches;
}

Descriptor unit(const VectorD& v) {
  const double norm = v.norm();
  if (!(norm > 0))
    throw std::invalid_argument("descriptor is zero: the patches carry no information");
  return (v / norm).cast<float>();
}

}  // namespace ria
