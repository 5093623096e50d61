// SPDX-License-Identifier: MIT
// Vector of locally aggregated descriptors over a given vocabulary, as AnyLoc computes it.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "aggregate/kmeans.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"

namespace ria {

namespace {

class Vlad final : public Aggregator {
 public:
  Vlad(const Matrix& centres, const VladOptions& options)
      : options_(options),
        centres_(as_eigen(centres).cast<double>()),
        directions_(cosine_directions(centres)) {}

  int dim() const override { return static_cast<int>(centres_.size()); }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const EigenVector norms =
        inverse_norms(checked_square_sums(features, static_cast<int>(centres_.cols())));
    const auto patches = as_eigen(features.patches);
    const EigenVector scale = options_.normalize_patches
                                  ? norms
                                  : EigenVector(EigenVector::Ones(features.patches.rows()));
    const EigenMatrix scores = product(patches, directions_);
    EigenMatrixD blocks = options_.vlad_soft ? soft_residuals(patches, scale, scores, norms)
                                             : hard_residuals(patches, scale, scores);
    if (options_.intra_normalize) {
      for (Eigen::Index k = 0; k < blocks.rows(); ++k) {
        const double norm = blocks.row(k).norm();
        if (norm > 0) blocks.row(k) /= norm;
      }
    }
    return unit(Eigen::Map<const EigenVectorD>(blocks.data(), blocks.size()));
  }

 private:
  /// A patch is compared by its direction alone: its length does not change which is largest.
  EigenMatrixD hard_residuals(const MatrixView& patches,
                              const EigenVector& scale,
                              const EigenMatrix& scores) const {
    EigenMatrixD sums = EigenMatrixD::Zero(centres_.rows(), centres_.cols());
    EigenVectorD counts = EigenVectorD::Zero(centres_.rows());
    for (Eigen::Index i = 0; i < patches.rows(); ++i) {
      const Eigen::Index best = largest(scores.row(i).data(), scores.cols());
      sums.row(best) += (scale[i] * patches.row(i)).cast<double>();
      counts[best] += 1;
    }
    return sums - counts.asDiagonal() * centres_;
  }

  /// Block k is the sum over patches q and ALL centres c of w_qk (x_q - c): what the published code
  /// computes, though w_qk (x_q - c_k) may have been meant.
  EigenMatrixD soft_residuals(const MatrixView& patches,
                              const EigenVector& scale,
                              const EigenMatrix& scores,
                              const EigenVector& norms) const {
    EigenMatrixD weights = options_.soft_temperature *
                           (norms.asDiagonal() * scores).cast<double>().transpose();  // K x N
    for (Eigen::Index i = 0; i < weights.cols(); ++i) {
      weights.col(i) = (weights.col(i).array() - weights.col(i).maxCoeff()).exp();
      weights.col(i) /= weights.col(i).sum();
    }
    const EigenMatrixD x = (scale.asDiagonal() * patches).cast<double>();
    return static_cast<double>(centres_.rows()) * product(weights, x) -
           weights.rowwise().sum() * centres_.colwise().sum();
  }

  VladOptions options_;
  EigenMatrixD centres_;    // K x D, as they are: not at length one
  EigenMatrix directions_;  // D x K, at length one
};

}  // namespace

void VladOptions::validate() const {
  if (clusters < 0) {
    throw std::invalid_argument(
        fmt::format("clusters is {}, 0 (the method's own) or more was expected", clusters));
  }
  if (!(soft_temperature > 0) || !std::isfinite(soft_temperature)) {
    throw std::invalid_argument(
        fmt::format("soft_temperature is {}, a number above 0 was expected", soft_temperature));
  }
}

std::unique_ptr<Aggregator> make_vlad(const Matrix& centres, const VladOptions& options) {
  options.validate();
  if (centres.empty() || !as_eigen(centres).allFinite()) {
    throw std::invalid_argument(
        fmt::format("the vocabulary is {}x{}{}, at least one centre of finite values was expected",
                    centres.rows(),
                    centres.cols(),
                    !centres.empty() ? " with NaN or infinity" : ""));
  }
  return std::make_unique<Vlad>(centres, options);
}

}  // namespace ria
