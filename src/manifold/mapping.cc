// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "nn/eigen_symmetric.h"
#include "nn/gemm.h"
#include "ria/eigen.h"
#include "ria/manifold.h"

namespace ria {

namespace {

/// Q f(lambda) Q^T
template <typename Function>
MatrixD spectral(const MatrixD& c, Function f) {
  const SymmetricEigen eigen = eigen_symmetric(as_eigen(c));
  const EigenVectorD values = eigen.values.unaryExpr(f);
  return to_matrix(product(EigenMatrixD(eigen.vectors * values.asDiagonal()),
                           EigenMatrixD(eigen.vectors.transpose())));
}

/// 3I - t, halved: the factor both iterates are multiplied by, equations (6) and (7).
void half_three_minus(EigenMatrixD& t) {
  t *= -0.5;
  t.diagonal().array() += 1.5;
}

double checked_norm(const MatrixD& c, int iterations) {
  if (iterations < 1) {
    throw std::invalid_argument(
        fmt::format("iterations is {}, at least 1 was expected", iterations));
  }
  return as_eigen(c).norm();
}

}  // namespace

NewtonSchulz newton_schulz(const MatrixD& c, int iterations) {
  const double norm = checked_norm(c, iterations);
  const int d = c.rows();
  EigenMatrixD y = EigenMatrixD::Zero(d, d), z = EigenMatrixD::Identity(d, d), t(d, d), next(d, d);
  if (norm != 0) y = as_eigen(c) / norm;
  for (int k = 0; norm != 0 && k < iterations; ++k) {
    multiply(z, y, t);
    half_three_minus(t);
    multiply(y, t, next);
    y.swap(next);
    multiply(t, z, next);
    z.swap(next);
  }
  return {to_matrix(y), to_matrix(z), to_matrix(y * std::sqrt(norm))};
}

MatrixD newton_schulz_sqrt(const MatrixD& c, int iterations) {
  const double norm = checked_norm(c, iterations);
  const int d = c.rows();
  if (norm == 0) return MatrixD(d, d);
  // The first step knows z = I and the last one needs no z: 3K - 3 products instead of 3K.
  EigenMatrixD y = as_eigen(c) / norm, t = y, next(d, d), z;
  half_three_minus(t);
  multiply(y, t, next);
  y.swap(next);
  if (iterations > 1) z = t;
  for (int k = 1; k < iterations; ++k) {
    multiply(z, y, t);
    half_three_minus(t);
    multiply(y, t, next);
    y.swap(next);
    if (k + 1 < iterations) {
      multiply(t, z, next);
      z.swap(next);
    }
  }
  return to_matrix(y * std::sqrt(norm));
}

MatrixD matrix_power(const MatrixD& c, double alpha) {
  return spectral(c, [alpha](double value) { return std::pow(std::max(value, 0.0), alpha); });
}

MatrixD matrix_log(const MatrixD& c) {
  return spectral(c, [](double value) {
    if (!(value > 0)) {
      throw std::invalid_argument(
          fmt::format("matrix logarithm needs a positive definite covariance, its smallest "
                      "eigenvalue is {:.3g}: use a "
                      "larger eps",
                      value));
    }
    return std::log(value);
  });
}

MatrixD remove_trace(const MatrixD& m) {
  MatrixD centred = m;
  as_eigen(centred).diagonal().array() -= as_eigen(m).trace() / static_cast<double>(m.rows());
  return centred;
}

double power_distance(const MatrixD& a, const MatrixD& b, double alpha) {
  const MatrixD flat_a = matrix_power(a, alpha), flat_b = matrix_power(b, alpha);
  return (as_eigen(flat_a) - as_eigen(flat_b)).norm() / alpha;
}

VectorD vectorize(const MatrixD& m) {
  const int d = m.rows();
  VectorD v;
  v.reserve(static_cast<std::size_t>(d) * (d + 1) / 2);
  for (int i = 0; i < d; ++i) v.push_back(m(i, i));
  for (int i = 0; i < d; ++i) {
    for (int j = i + 1; j < d; ++j) v.push_back(std::sqrt(2.0) * m(i, j));
  }
  return v;
}

double newton_schulz_error(const MatrixD& c, int iterations) {
  const MatrixD root = newton_schulz_sqrt(c, iterations), exact = matrix_power(c, 0.5);
  return (as_eigen(root) - as_eigen(exact)).norm() / as_eigen(exact).norm();
}

}  // namespace ria
