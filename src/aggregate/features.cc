// SPDX-License-Identifier: MIT
#include "aggregate/features.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace ria {

namespace {

// Cloned for wider vectors because every value of the features passes through it.
__attribute__((target_clones("avx512f", "arch=haswell", "default"))) float square_sum(
    const float* x, Eigen::Index n) {
  constexpr int kLanes = 32;
  float lanes[kLanes] = {};
  Eigen::Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lanes[j] += x[i + j] * x[i + j];
  }
  float sum = 0;
  for (; i < n; ++i) sum += x[i] * x[i];
  for (float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

void check_features(const PatchFeatures& features, int expected_dim) {
  const Matrix& x = features.patches;
  if (x.rows() == 0) throw std::invalid_argument("no patch features to aggregate");
  if (x.cols() != expected_dim) {
    throw std::invalid_argument(fmt::format(
        "patch features have {} columns, the aggregator expects {}", x.cols(), expected_dim));
  }
  // A sum of squares is finite only if every value is (or overflows, which is as unusable).
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    if (!std::isfinite(square_sum(x.row(i).data(), x.cols()))) {
      throw std::invalid_argument(
          fmt::format("patch {} holds NaN, infinity or values too large", i));
    }
  }
}

Vector inverse_row_norms(const Matrix& patches) {
  Vector inverse(patches.rows());
  for (Eigen::Index i = 0; i < patches.rows(); ++i) {
    const float norm = std::sqrt(square_sum(patches.row(i).data(), patches.cols()));
    inverse[i] = norm > 0 ? 1 / norm : 0;
  }
  return inverse;
}

Matrix normalized_rows(const Matrix& patches) {
  return inverse_row_norms(patches).asDiagonal() * patches;
}

Descriptor unit(const VectorD& v) {
  const double norm = v.norm();
  if (!(norm > 0))
    throw std::invalid_argument("descriptor is zero: the patches carry no information");
  return (v / norm).cast<float>();
}

}  // namespace ria
