// SPDX-License-Identifier: MIT
// Riemannian Invariant Aggregation. Equation numbers are the paper's.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"

namespace ria {

namespace {

/// X = X_raw P, equation (1), of the patches as they are or at length one. The lengths divide the
/// small product instead of the large input.
Matrix project(const Matrix& patches,
               const Vector& square_sums,
               const Matrix& projection,
               bool normalize) {
  Matrix x = projection.size() > 0 ? product(patches, projection) : patches;
  if (normalize) x = inverse_norms(square_sums).asDiagonal() * x;
  return x;
}

/// Equations (2) and (3).
MatrixD estimate(const Matrix& x, const RiaOptions& options) {
  switch (options.estimator) {
    case Estimator::kSample:
      return sample_moments(x).covariance;
    case Estimator::kRecov:
      return recov(sample_moments(x).covariance, options.tau);
    case Estimator::kLedoitWolf:
      return ledoit_wolf(x).covariance;
    case Estimator::kOas:
      return oas(x).covariance;
  }
  throw std::invalid_argument("unknown estimator");
}

/// C, equations (1) to (4).
MatrixD regularized_covariance(const PatchFeatures& features,
                               int dim,
                               const RiaOptions& options,
                               const Matrix& projection) {
  const Vector square_sums = checked_square_sums(features, dim);
  MatrixD c = estimate(
      project(features.patches, square_sums, projection, options.normalize_patches), options);
  c.diagonal().array() += options.eps;
  return c;
}

/// Equations (5) to (8), or what the options put in their place.
MatrixD flatten(const MatrixD& c, const RiaOptions& options) {
  switch (options.mapping) {
    case Mapping::kNewtonSchulz:
      return newton_schulz_sqrt(c, options.iterations);
    case Mapping::kPower:
      return matrix_power(c, options.alpha);
    case Mapping::kLogEuclidean:
      return matrix_log(c);
    case Mapping::kLogEuclideanCentred:
      return remove_trace(matrix_log(c));
    case Mapping::kIdentity:
      return c;
  }
  throw std::invalid_argument("unknown mapping");
}

Matrix make_projection(int feature_dim, const RiaOptions& options) {
  if (options.projection == "none") return {};
  if (options.projection == "random")
    return random_orthogonal(feature_dim, options.d, options.seed);
  throw std::invalid_argument(
      fmt::format("projection {} needs a matrix: fit it or read it first", options.projection));
}

class Ria final : public Aggregator {
 public:
  Ria(int feature_dim, const RiaOptions& options, Matrix projection)
      : feature_dim_(feature_dim), options_(options), projection_(std::move(projection)) {
    const auto d = projection_.size() > 0 ? projection_.cols() : feature_dim;
    dim_ = static_cast<int>(d * (d + 1) / 2);
  }

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const MatrixD c = regularized_covariance(features, feature_dim_, options_, projection_);
    return unit(vectorize(flatten(c, options_)));
  }

 private:
  int feature_dim_;
  RiaOptions options_;
  Matrix projection_;
  int dim_;
};

}  // namespace

void RiaOptions::validate() const {
  const auto require = [](bool holds, const char* field, auto value, const char* expected) {
    if (!holds)
      throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  require(d >= 1, "d", d, "at least 1");
  require(tau >= 0 && std::isfinite(tau), "tau", tau, "a number from 0 up");
  require(eps >= 0 && std::isfinite(eps), "eps", eps, "a number from 0 up");
  require(iterations >= 1, "iterations", iterations, "at least 1");
  require(alpha > 0 && alpha <= 1, "alpha", alpha, "a number in (0, 1]");
}

MatrixD ria_covariance(const PatchFeatures& features,
                       const RiaOptions& options,
                       const Matrix& projection) {
  const auto dim = projection.size() > 0 ? projection.rows() : features.patches.cols();
  return regularized_covariance(features, static_cast<int>(dim), options, projection);
}

std::unique_ptr<Aggregator> make_ria(int feature_dim,
                                     const RiaOptions& options,
                                     const Matrix& projection) {
  options.validate();
  if (projection.size() > 0 && projection.rows() != feature_dim) {
    throw std::invalid_argument(fmt::format(
        "projection has {} rows, the features have {} columns", projection.rows(), feature_dim));
  }
  return std::make_unique<Ria>(
      feature_dim,
      options,
      projection.size() > 0 ? projection : make_projection(feature_dim, options));
}

}  // namespace ria
