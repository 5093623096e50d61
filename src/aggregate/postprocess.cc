// SPDX-License-Identifier: MIT
#include "ria/postprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "nn/eigen_symmetric.h"
#include "nn/gemm.h"

namespace ria {

namespace {

/// Deviations from the mean of at most so many rows, evenly spread.
MatrixD deviations(const Matrix& rows, const Vector& mean, Eigen::Index most) {
  const Eigen::Index count = std::min(rows.rows(), most);
  MatrixD x(count, rows.cols());
  for (Eigen::Index i = 0; i < count; ++i) {
    x.row(i) = (rows.row(i * rows.rows() / count) - mean.transpose()).cast<double>();
  }
  return x;
}

/// Directions of largest variance as columns, and the variances. Whichever of x^T x and x x^T is
/// smaller is decomposed: they have the same eigenvalues, and v = x^T u / |x^T u|.
SymmetricEigen principal(const MatrixD& x, int kept) {
  const bool tall = x.rows() >= x.cols();
  SymmetricEigen found = eigen_symmetric(tall ? gram(x) : gram(MatrixD(x.transpose())), kept);
  if (!tall) found.vectors = product(MatrixD(x.transpose()), found.vectors);
  found.values /= static_cast<double>(x.rows() - 1);
  for (int j = 0; !tall && j < kept; ++j) {
    const double norm = found.vectors.col(j).norm();
    if (norm > 0) found.vectors.col(j) /= norm;
  }
  fix_signs(found.vectors);
  return found;
}

}  // namespace

void PostprocessOptions::validate() const {
  if (pca < 0) {
    throw std::invalid_argument(fmt::format("pca is {}, 0 (off) or more was expected", pca));
  }
  if (whiten && pca == 0) {
    throw std::invalid_argument("whiten goes with pca: how many directions to keep");
  }
}

Postprocessor::Postprocessor(Vector mean, Matrix directions)
    : mean_(std::move(mean)), directions_(std::move(directions)) {
  if (directions_.size() > 0 && directions_.rows() != mean_.size()) {
    throw std::invalid_argument(fmt::format(
        "directions have {} rows, the mean has {} values", directions_.rows(), mean_.size()));
  }
}

Postprocessor Postprocessor::fit(const Matrix& descriptors, const PostprocessOptions& options) {
  options.validate();
  if (!options.any()) return {};
  if (descriptors.rows() == 0)
    throw std::invalid_argument("no descriptors to fit center or pca on");
  const Vector mean =
      (descriptors.cast<double>().colwise().sum() / static_cast<double>(descriptors.rows()))
          .transpose()
          .cast<float>();
  if (options.pca == 0) return {mean, {}};
  const Eigen::Index rows = std::min<Eigen::Index>(descriptors.rows(), kMostRows);
  // Less the mean, n descriptors span n - 1 directions.
  const Eigen::Index most = std::min(rows - 1, descriptors.cols());
  if (options.pca > most) {
    throw std::invalid_argument(
        fmt::format("pca is {}, at most {} was expected: {} descriptors of {} dims to fit on",
                    options.pca,
                    std::max<Eigen::Index>(most, 0),
                    rows,
                    descriptors.cols()));
  }
  const SymmetricEigen found = principal(deviations(descriptors, mean, kMostRows), options.pca);
  Matrix directions = found.vectors.cast<float>();
  for (int j = 0; options.whiten && j < options.pca; ++j) {
    // What does not vary stays out instead of being blown up.
    const double variance = found.values[j], floor = 1e-12 * found.values[0];
    directions.col(j) *= variance > floor ? static_cast<float>(1 / std::sqrt(variance)) : 0.0f;
  }
  return {mean, directions};
}

int Postprocessor::dim(int input) const {
  return directions_.size() > 0 ? static_cast<int>(directions_.cols()) : input;
}

Matrix Postprocessor::apply(const Matrix& descriptors) const {
  if (empty()) return descriptors;
  if (descriptors.cols() != mean_.size()) {
    throw std::invalid_argument(fmt::format(
        "descriptor has {} dims, it was fitted on {}", descriptors.cols(), mean_.size()));
  }
  Matrix x = descriptors.rowwise() - mean_.transpose();
  if (directions_.size() > 0) x = product(x, directions_);
  return normalized_rows(x);
}

Descriptor Postprocessor::apply(const Descriptor& descriptor) const {
  return apply(Matrix(descriptor.transpose())).row(0);
}

}  // namespace ria
