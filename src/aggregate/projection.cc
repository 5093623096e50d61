// SPDX-License-Identifier: MIT
#include "aggregate/projection.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <cmath>
#include <numbers>
#include <random>
#include <stdexcept>

#include "aggregate/features.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"

namespace ria {

namespace {

/// A uniform number in [0, 1) of 24 bits, as PyTorch makes one.
float uniform(std::mt19937& engine) {
  return static_cast<float>(engine() & 0xffffffu) * 0x1.0p-24f;
}

/// Box-Muller on sixteen uniform numbers: the first eight are radii, the last eight angles.
void to_normal_16(float* x) {
  for (int j = 0; j < 8; ++j) {
    const float radius = std::sqrt(-2 * std::log(1 - x[j]));
    const float angle = 2 * std::numbers::pi_v<float> * x[j + 8];
    x[j] = radius * std::cos(angle);
    x[j + 8] = radius * std::sin(angle);
  }
}

}  // namespace

Matrix standard_normal(int rows, int columns, std::uint64_t seed) {
  std::mt19937 engine(static_cast<std::uint32_t>(seed));
  Matrix normal(rows, columns);
  const Eigen::Index size = normal.size();
  if (size < 16) throw std::invalid_argument("fewer than 16 random numbers are drawn another way");
  float* x = normal.data();
  for (Eigen::Index i = 0; i < size; ++i) x[i] = uniform(engine);
  for (Eigen::Index i = 0; i + 16 <= size; i += 16) to_normal_16(x + i);
  if (size % 16 != 0) {  // the last sixteen are drawn anew
    for (Eigen::Index i = size - 16; i < size; ++i) x[i] = uniform(engine);
    to_normal_16(x + size - 16);
  }
  return normal;
}

Matrix random_orthogonal(int rows, int columns, std::uint64_t seed) {
  if (columns < 1 || columns > rows) {
    throw std::invalid_argument(
        fmt::format("d is {}, it must be from 1 to the feature dimension {}", columns, rows));
  }
  const Eigen::MatrixXd gaussian =
      standard_normal(std::max(rows, 16), columns, seed).topRows(rows).cast<double>();
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(gaussian);
  Eigen::MatrixXd q = qr.householderQ() * Eigen::MatrixXd::Identity(rows, columns);
  // A positive diagonal of R makes Q unique and Haar-distributed.
  for (int j = 0; j < columns; ++j) {
    if (qr.matrixQR()(j, j) < 0) q.col(j) = -q.col(j);
  }
  return q.cast<float>();
}

PcaFitter::PcaFitter(int dim) : sum_(VectorD::Zero(dim)), second_moment_(MatrixD::Zero(dim, dim)) {}

void PcaFitter::add(const Matrix& rows, bool normalize) {
  const MatrixD x = (normalize ? normalized_rows(rows) : rows).cast<double>();
  count_ += x.rows();
  sum_ += x.colwise().sum().transpose();
  second_moment_ += gram(x);
}

Matrix PcaFitter::fit(int d) const {
  const int dim = static_cast<int>(sum_.size());
  if (d < 1 || d > dim) {
    throw std::invalid_argument(
        fmt::format("d is {}, it must be from 1 to the feature dimension {}", d, dim));
  }
  if (count_ < 2) throw std::invalid_argument("PCA needs at least two rows");
  const VectorD mean = sum_ / static_cast<double>(count_);
  const Eigen::MatrixXd covariance =
      second_moment_ / static_cast<double>(count_) - MatrixD(mean * mean.transpose());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  Matrix directions = solver.eigenvectors().rightCols(d).rowwise().reverse().cast<float>();
  // An eigenvector's sign is arbitrary: its largest entry is made positive.
  for (int j = 0; j < d; ++j) {
    Eigen::Index largest = 0;
    directions.col(j).cwiseAbs().maxCoeff(&largest);
    if (directions(largest, j) < 0) directions.col(j) = -directions.col(j);
  }
  return directions;
}

Matrix fit_pca(const Matrix& rows, int d) {
  PcaFitter fitter(static_cast<int>(rows.cols()));
  fitter.add(rows, false);
  return fitter.fit(d);
}

}  // namespace ria
