// SPDX-License-Identifier: MIT
#include "aggregate/projection.h"

#include <fmt/format.h>

#include <Eigen/QR>
#include <cmath>
#include <random>
#include <stdexcept>

#include "aggregate/features.h"
#include "nn/eigen_symmetric.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"

namespace ria {

namespace {

/// The numbers of numpy.random.RandomState(seed).normal(): Mersenne twister and Marsaglia's polar
/// method.
class RandomState {
 public:
  explicit RandomState(std::uint32_t seed) : engine_(seed) {}

  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x = 0, y = 0, r2 = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      r2 = x * x + y * y;
    } while (r2 >= 1 || r2 == 0);
    const double scale = std::sqrt(-2 * std::log(r2) / r2);
    spare_ = scale * x;
    has_spare_ = true;
    return scale * y;
  }

 private:
  double uniform() {  // 53 bits
    const std::uint32_t high = engine_() >> 5, low = engine_() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  std::mt19937 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace

MatrixD standard_normal(int rows, int columns, std::uint32_t seed) {
  RandomState state(seed);
  MatrixD normal(rows, columns);
  for (Eigen::Index i = 0; i < normal.size(); ++i) normal.data()[i] = state.normal();
  return normal;
}

Matrix random_orthogonal(int rows, int columns, std::uint32_t seed) {
  if (columns < 1 || columns > rows) {
    throw std::invalid_argument(
        fmt::format("d is {}, it must be from 1 to the feature dimension {}", columns, rows));
  }
  const Eigen::MatrixXd gaussian = standard_normal(columns, rows, seed).transpose();
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
  const MatrixD covariance =
      second_moment_ / static_cast<double>(count_) - MatrixD(mean * mean.transpose());
  return eigen_symmetric(covariance, d).vectors.cast<float>();
}

Matrix fit_pca(const Matrix& rows, int d) {
  PcaFitter fitter(static_cast<int>(rows.cols()));
  fitter.add(rows, false);
  return fitter.fit(d);
}

}  // namespace ria
