// SPDX-License-Identifier: MIT
#include <cmath>
#include <stdexcept>

#include "nn/gemm.h"
#include "ria/eigen.h"
#include "ria/manifold.h"

namespace ria {

namespace {

/// Rows minus their mean, in double.
struct Centred {
  EigenVectorD mean;
  EigenMatrixD rows;
};

Centred centre(const Matrix& x) {
  if (x.rows() == 0) throw std::invalid_argument("covariance of no patches is not defined");
  Centred centred;
  centred.rows = as_eigen(x).cast<double>();
  centred.mean = centred.rows.colwise().mean();
  centred.rows.rowwise() -= centred.mean.transpose();
  return centred;
}

/// (1 - shrinkage) S + shrinkage tr(S)/d I
Shrunk shrink(const EigenMatrixD& covariance, double shrinkage) {
  const double mu = covariance.trace() / static_cast<double>(covariance.rows());
  Shrunk result{to_matrix((1 - shrinkage) * covariance), shrinkage};
  as_eigen(result.covariance).diagonal().array() += shrinkage * mu;
  return result;
}

}  // namespace

Moments sample_moments(const Matrix& x) {
  const Centred centred = centre(x);
  EigenMatrixD covariance = gram(centred.rows);
  if (x.rows() > 1) covariance /= static_cast<double>(x.rows() - 1);
  return {to_vector(centred.mean), to_matrix(covariance)};
}

Shrunk ledoit_wolf(const Matrix& x) {
  const Centred centred = centre(x);
  const double n = static_cast<double>(x.rows());
  const double d = static_cast<double>(x.cols());
  const EigenMatrixD s = gram(centred.rows) / n;
  const double mu = s.trace() / d;
  const double s_squared = s.squaredNorm();
  // delta: squared distance of S to mu I. beta: mean squared distance of one patch's outer product
  // to S, which is (1/n) sum |x|^4 - |S|^2 because the outer products average to S.
  const double delta = (s_squared - d * mu * mu) / d;
  const double fourth = centred.rows.rowwise().squaredNorm().array().square().sum();
  const double beta = (fourth / n - s_squared) / (n * d);
  const double shrinkage = delta > 0 ? std::min(beta, delta) / delta : 0.0;
  return shrink(s, shrinkage);
}

Shrunk oas(const Matrix& x) {
  const Centred centred = centre(x);
  const double n = static_cast<double>(x.rows());
  const double d = static_cast<double>(x.cols());
  const EigenMatrixD s = gram(centred.rows) / n;
  const double mu = s.trace() / d;
  const double alpha = s.array().square().mean();
  const double numerator = alpha + mu * mu;
  const double denominator = (n + 1) * (alpha - mu * mu / d);
  const double shrinkage = denominator > 0 ? std::min(numerator / denominator, 1.0) : 1.0;
  return shrink(s, shrinkage);
}

MatrixD recov(const MatrixD& covariance, double tau) {
  const auto c = as_eigen(covariance);
  MatrixD rectified = to_matrix((c.array().abs() > tau).select(c, 0.0));
  as_eigen(rectified).diagonal() = c.diagonal();
  return rectified;
}

}  // namespace ria
