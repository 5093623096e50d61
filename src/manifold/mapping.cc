// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <stdexcept>

#include "nn/gemm.h"
#include "ria/manifold.h"

namespace ria {

namespace {

/// Q f(lambda) Q^T
template <typename Function>
MatrixD spectral(const MatrixD& c, Function f) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(c);
  if (solver.info() != Eigen::Success) {
    throw std::runtime_error("eigendecomposition of the covariance did not converge");
  }
  const VectorD values = solver.eigenvalues().unaryExpr(f);
  const MatrixD vectors = solver.eigenvectors();
  return product(MatrixD(vectors * values.asDiagonal()), MatrixD(vectors.transpose()));
}

/// 3I - t, halved: the factor both iterates are multiplied by, equations (6) and (7).
void half_three_minus(MatrixD& t) {
  t *= -0.5;
  t.diagonal().array() += 1.5;
}

double checked_norm(const MatrixD& c, int iterations) {
  if (iterations < 1) {
    throw std::invalid_argument(
        fmt::format("iterations is {}, at least 1 was expected", iterations));
  }
  return c.norm();
}

}  // namespace

NewtonSchulz newton_schulz(const MatrixD& c, int iterations) {
  const double norm = checked_norm(c, iterations);
  const Eigen::Index d = c.rows();
  if (norm == 0) return {MatrixD::Zero(d, d), MatrixD::Identity(d, d), MatrixD::Zero(d, d)};
  NewtonSchulz result{c / norm, MatrixD::Identity(d, d), {}};
  MatrixD t(d, d), next(d, d);
  for (int k = 0; k < iterations; ++k) {
    multiply(result.z, result.y, t);
    half_three_minus(t);
    multiply(result.y, t, next);
    result.y.swap(next);
    multiply(t, result.z, next);
    result.z.swap(next);
  }
  result.m = result.y * std::sqrt(norm);
  return result;
}

MatrixD newton_schulz_sqrt(const MatrixD& c, int iterations) {
  const double norm = checked_norm(c, iterations);
  const Eigen::Index d = c.rows();
  if (norm == 0) return MatrixD::Zero(d, d);
  // The first step knows z = I and the last one needs no z: 3K - 3 products instead of 3K.
  MatrixD y = c / norm, t = y, next(d, d), z;
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
  return y * std::sqrt(norm);
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
  centred.diagonal().array() -= m.trace() / static_cast<double>(m.rows());
  return centred;
}

double power_distance(const MatrixD& a, const MatrixD& b, double alpha) {
  return (matrix_power(a, alpha) - matrix_power(b, alpha)).norm() / alpha;
}

VectorD vectorize(const MatrixD& m) {
  const Eigen::Index d = m.rows();
  VectorD v(d * (d + 1) / 2);
  v.head(d) = m.diagonal();
  Eigen::Index next = d;
  for (Eigen::Index i = 0; i < d; ++i) {
    const Eigen::Index count = d - i - 1;
    v.segment(next, count) = std::sqrt(2.0) * m.row(i).tail(count).transpose();
    next += count;
  }
  return v;
}

double newton_schulz_error(const MatrixD& c, int iterations) {
  const MatrixD exact = matrix_power(c, 0.5);
  return (newton_schulz_sqrt(c, iterations) - exact).norm() / exact.norm();
}

}  // namespace ria
