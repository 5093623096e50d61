// SPDX-License-Identifier: MIT
#include "aggregate/features.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace ria {

EigenVector checked_square_sums(const PatchFeatures& features, int expected_dim) {
  const Matrix& x = features.patches;
  if (x.rows() == 0) throw std::invalid_argument("no patch features to aggregate");
  if (x.cols() != expected_dim) {
    throw std::invalid_argument(fmt::format(
        "patch features have {} columns, the aggregator expects {}", x.cols(), expected_dim));
  }
  // A sum of squares is finite only if every value is.
  const EigenVector sums = row_square_sums(as_eigen(x));
  for (Eigen::Index i = 0; i < sums.size(); ++i) {
    if (!std::isfinite(sums[i])) {
      throw std::invalid_argument(
          fmt::format("patch {} holds NaN, infinity or values too large", i));
    }
  }
  return sums;
}

void check_grid(const PatchFeatures& features) {
  const std::int64_t cells = std::int64_t{features.grid_height} * features.grid_width;
  if (features.grid_height > 0 && features.grid_width > 0 && features.patches.rows() == cells)
    return;
  throw std::invalid_argument(fmt::format("{} patches are no grid of {} x {}",
                                          features.patches.rows(),
                                          features.grid_height,
                                          features.grid_width));
}

EigenVector inverse_norms(const EigenVector& square_sums) {
  return square_sums.unaryExpr([](float sum) { return sum > 0 ? 1 / std::sqrt(sum) : 0.0f; });
}

EigenMatrix normalized_rows(const MatrixView& patches) {
  return inverse_norms(row_square_sums(patches)).asDiagonal() * patches;
}

Descriptor unit(const EigenVectorD& v) {
  const double norm = v.norm();
  if (!(norm > 0))
    throw std::invalid_argument("descriptor is zero: the patches carry no information");
  return to_vector((v / norm).cast<float>());
}

}  // namespace ria
