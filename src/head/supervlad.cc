// SPDX-License-Identifier: MIT
// SuperVLAD: soft sums of unit patches for a few clusters, without centres; ghost clusters take
// what belongs to no place and are dropped.
#include <fmt/format.h>

#include <stdexcept>

#include "aggregate/features.h"
#include "head/cross_image.h"
#include "head/heads.h"

namespace ria {

namespace {

class SuperVlad final : public CrossImageHead {
 public:
  SuperVlad(EigenMatrix turned_score, int clusters, CrossImage encoder, int dim)
      : CrossImageHead(std::move(encoder), dim),
        score_(std::move(turned_score)),
        clusters_(clusters) {}

 protected:
  EigenMatrix parts(const PatchFeatures& features) const override {
    const EigenVector lengths =
        inverse_norms(checked_square_sums(features, static_cast<int>(score_.rows())));
    const auto patches = as_eigen(features.patches);
    EigenMatrixD share = (lengths.asDiagonal() * product(patches, score_)).cast<double>();
    for (Eigen::Index i = 0; i < share.rows(); ++i) {
      share.row(i) = (share.row(i).array() - share.row(i).maxCoeff()).exp();
      share.row(i) *= lengths[i] / share.row(i).sum();
    }
    EigenMatrixD sums =
        product(share.leftCols(clusters_).transpose().eval(), patches.cast<double>());
    for (Eigen::Index k = 0; k < sums.rows(); ++k) {
      sums.row(k) /= std::max(sums.row(k).norm(), 1e-12);
    }
    return (sums / sums.norm()).cast<float>();
  }

 private:
  EigenMatrix score_;  ///< D x (clusters and ghosts)
  int clusters_;
};

}  // namespace

std::unique_ptr<Aggregator> read_supervlad(const TensorFile& file, int ghosts) {
  const std::string score = "aggregation.conv.weight";
  const HeadTensors head(file, "SuperVLAD head", {score});
  const Matrix weight = head.matrix(score);
  const int clusters = weight.rows() - ghosts;
  if (clusters < 1) {
    head.refuse(
        score,
        fmt::format(
            "has {} rows, more than its {} ghost clusters were expected", weight.rows(), ghosts));
  }
  return std::make_unique<SuperVlad>(as_eigen(weight).transpose(),
                                     clusters,
                                     read_cross_image(head, weight.cols()),
                                     head.dim(clusters, weight.cols()));
}

}  // namespace ria
