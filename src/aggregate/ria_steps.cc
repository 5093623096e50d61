// SPDX-License-Identifier: MIT
#include "aggregate/ria_steps.h"

#include <stdexcept>

#include "aggregate/features.h"
#include "nn/gemm.h"

namespace ria {

namespace {

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

}  // namespace

Matrix ria_project(const Matrix& patches,
                   const EigenVector& square_sums,
                   const Matrix& projection,
                   const RiaOptions& options) {
  Matrix x =
      projection.empty() ? patches : to_matrix(product(as_eigen(patches), as_eigen(projection)));
  // The lengths divide the small product instead of the large input.
  if (options.normalize_patches) {
    as_eigen(x).array().colwise() *= inverse_norms(square_sums).array();
  }
  return x;
}

MatrixD regularized_covariance(const Matrix& x, const RiaOptions& options) {
  MatrixD c = estimate(x, options);
  as_eigen(c).diagonal().array() += options.eps;
  return c;
}

VectorD ria_vector(const Matrix& x, const RiaOptions& options) {
  return vectorize(flatten(regularized_covariance(x, options), options));
}

}  // namespace ria
