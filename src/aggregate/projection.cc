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

EigenMatrixD standard_normal(int rows, int columns, std::uint32_t seed) {
  RandomState state(seed);
  EigenMatrixD normal(rows, columns);
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
  return to_matrix(q.cast<float>());
}

struct PcaFitter::Impl {
  explicit Impl(int dim)
      : sum(EigenVectorD::Zero(dim)), second_moment(EigenMatrixD::Zero(dim, dim)) {}

  long long count = 0;
  EigenVectorD sum;
  EigenMatrixD second_moment;
};

PcaFitter::PcaFitter(int dim) : impl_(std::make_unique<Impl>(dim)) {}
PcaFitter::~PcaFitter() = default;
PcaFitter::PcaFitter(PcaFitter&&) noexcept = default;
PcaFitter& PcaFitter::operator=(PcaFitter&&) noexcept = default;

void PcaFitter::add(const Matrix& rows, bool normalize) {
  const EigenMatrixD x = normalize ? EigenMatrixD(normalized_rows(as_eigen(rows)).cast<double>())
                                   : EigenMatrixD(as_eigen(rows).cast<double>());
  impl_->count += x.rows();
  impl_->sum += x.colwise().sum().transpose();
  impl_->second_moment += gram(x);
}

long long PcaFitter::rows() const { return impl_->count; }

Matrix PcaFitter::fit(int d) const {
  const auto& [count, sum, second_moment] = *impl_;
  const int dim = static_cast<int>(sum.size());
  if (d < 1 || d > dim) {
    throw std::invalid_argument(
        fmt::format("d is {}, it must be from 1 to the feature dimension {}", d, dim));
  }
  if (count < 2) throw std::invalid_argument("PCA needs at least two rows");
  const EigenVectorD mean = sum / static_cast<double>(count);
  const EigenMatrixD covariance =
      second_moment / static_cast<double>(count) - EigenMatrixD(mean * mean.transpose());
  return to_matrix(eigen_symmetric(covariance, d).vectors.cast<float>());
}

Matrix fit_pca(const Matrix& rows, int d) {
  PcaFitter fitter(rows.cols());
  fitter.add(rows, false);
  return fitter.fit(d);
}

}  // namespace ria
