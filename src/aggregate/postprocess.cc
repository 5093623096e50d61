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
EigenMatrixD deviations(const MatrixView& rows, const EigenVector& mean, Eigen::Index most) {
  const Eigen::Index count = std::min(rows.rows(), most);
  EigenMatrixD x(count, rows.cols());
  for (Eigen::Index i = 0; i < count; ++i) {
    x.row(i) = (rows.row(i * rows.rows() / count) - mean.transpose()).cast<double>();
  }
  return x;
}

/// Directions of largest variance as columns, and the variances. Whichever of x^T x and x x^T is
/// smaller is decomposed: they have the same eigenvalues, and v = x^T u / |x^T u|.
SymmetricEigen principal(const EigenMatrixD& x, int kept) {
  const bool tall = x.rows() >= x.cols();
  SymmetricEigen found = eigen_symmetric(tall ? gram(x) : gram(x.transpose()), kept);
  if (!tall) found.vectors = product(x.transpose(), found.vectors);
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

struct Postprocessor::Fitted {
  Vector mean;
  Matrix directions;
};

Postprocessor::Postprocessor(Vector mean, Matrix directions) {
  if (!directions.empty() && directions.rows() != std::ssize(mean)) {
    throw std::invalid_argument(fmt::format(
        "directions have {} rows, the mean has {} values", directions.rows(), mean.size()));
  }
  if (mean.empty()) return;
  fitted_ = std::make_shared<const Fitted>(Fitted{std::move(mean), std::move(directions)});
}

const Vector& Postprocessor::mean() const {
  static const Vector none;
  return fitted_ ? fitted_->mean : none;
}

const Matrix& Postprocessor::directions() const {
  static const Matrix none;
  return fitted_ ? fitted_->directions : none;
}

Postprocessor Postprocessor::fit(const Matrix& descriptors, const PostprocessOptions& options) {
  options.validate();
  if (!options.any()) return {};
  if (descriptors.rows() == 0)
    throw std::invalid_argument("no descriptors to fit center or pca on");
  const auto all = as_eigen(descriptors);
  const EigenVector mean = (all.cast<double>().colwise().sum() / static_cast<double>(all.rows()))
                               .transpose()
                               .cast<float>();
  if (options.pca == 0) return {to_vector(mean), {}};
  const int rows = std::min(descriptors.rows(), int{kMostRows});
  // Less the mean, n descriptors span n - 1 directions.
  const int most = std::min(rows - 1, descriptors.cols());
  if (options.pca > most) {
    throw std::invalid_argument(
        fmt::format("pca is {}, at most {} was expected: {} descriptors of {} dims to fit on",
                    options.pca,
                    std::max(most, 0),
                    rows,
                    descriptors.cols()));
  }
  const SymmetricEigen found = principal(deviations(all, mean, kMostRows), options.pca);
  EigenMatrix directions = found.vectors.cast<float>();
  for (int j = 0; options.whiten && j < options.pca; ++j) {
    // What does not vary stays out instead of being blown up.
    const double variance = found.values[j], floor = 1e-12 * found.values[0];
    directions.col(j) *= variance > floor ? static_cast<float>(1 / std::sqrt(variance)) : 0.0f;
  }
  return {to_vector(mean), to_matrix(directions)};
}

int Postprocessor::dim(int input) const {
  return directions().empty() ? input : directions().cols();
}

Matrix Postprocessor::apply(const Matrix& descriptors) const {
  if (empty()) return descriptors;
  if (descriptors.cols() != std::ssize(mean())) {
    throw std::invalid_argument(fmt::format(
        "descriptor has {} dims, it was fitted on {}", descriptors.cols(), mean().size()));
  }
  EigenMatrix x = as_eigen(descriptors).rowwise() - as_eigen(mean()).transpose();
  if (!directions().empty()) x = product(x, as_eigen(directions()));
  return to_matrix(normalized_rows(x));
}

Descriptor Postprocessor::apply(const Descriptor& descriptor) const {
  if (empty()) return descriptor;
  const Matrix applied = apply(Matrix(1, static_cast<int>(descriptor.size()), descriptor));
  return {applied.values().begin(), applied.values().end()};
}

}  // namespace ria
