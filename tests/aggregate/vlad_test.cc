// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "aggregate/projection.h"
#include "ria/aggregator.h"
#include "ria/eigen.h"

namespace ria {
namespace {

constexpr int kClusters = 6, kDim = 24;

Matrix centres() { return to_matrix(0.3f * standard_normal(kClusters, kDim, 1).cast<float>()); }

PatchFeatures patches(int count = 300) {
  return {to_matrix(standard_normal(count, kDim, 2).cast<float>()), 0, 0, {}};
}

/// From the definition, patch after patch.
EigenVector brute_force(const EigenMatrix& x, const EigenMatrix& c, bool intra) {
  EigenMatrixD sums = EigenMatrixD::Zero(c.rows(), c.cols());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const EigenVectorD unit = x.row(i).cast<double>().normalized();
    Eigen::Index best = 0;
    for (Eigen::Index k = 1; k < c.rows(); ++k) {
      const auto cosine = [&](Eigen::Index j) {
        return c.row(j).cast<double>().normalized().dot(unit);
      };
      if (cosine(k) > cosine(best)) best = k;
    }
    sums.row(best) += unit.transpose() - c.row(best).cast<double>();
  }
  if (intra) sums.rowwise().normalize();
  return Eigen::Map<const EigenVectorD>(sums.data(), sums.size()).normalized().cast<float>();
}

TEST(Vlad, EqualsItsDefinition) {
  for (const bool intra : {true, false}) {
    VladOptions options;
    options.intra_normalize = intra;
    const auto head = make_vlad(centres(), options);
    EXPECT_EQ(head->dim(), kClusters * kDim);
    const EigenVector v = as_eigen(head->aggregate(patches()));
    const EigenVector expected =
        brute_force(as_eigen(patches().patches), as_eigen(centres()), intra);
    EXPECT_LT((v - expected).cwiseAbs().maxCoeff(), 1e-6f);
    EXPECT_NEAR(v.norm(), 1, 1e-6f);
  }
}

TEST(Vlad, DoesNotDependOnTheLengthOfAPatch) {
  PatchFeatures longer = patches();
  for (int i = 0; i < longer.patches.rows(); ++i) {
    as_eigen(longer.patches.row(i)) *= std::exp2f(static_cast<float>(i % 9 - 4));
  }
  for (const bool soft : {false, true}) {
    VladOptions options;
    options.vlad_soft = soft;
    const auto head = make_vlad(centres(), options);
    const Descriptor v = head->aggregate(longer), w = head->aggregate(patches());
    EXPECT_LT((as_eigen(v) - as_eigen(w)).cwiseAbs().maxCoeff(), 1e-6f);
  }
}

TEST(Vlad, SoftSumsTheResidualsToAllCentres) {
  const EigenMatrix x = as_eigen(patches(40).patches), c = as_eigen(centres());
  EigenMatrixD blocks = EigenMatrixD::Zero(c.rows(), c.cols());
  VladOptions options;
  options.vlad_soft = true;
  options.soft_temperature = 3;
  for (Eigen::Index q = 0; q < x.rows(); ++q) {
    const EigenVectorD unit = x.row(q).cast<double>().normalized();
    EigenVectorD weights = 3 * (c.cast<double>().rowwise().normalized() * unit);
    weights = weights.array().exp();
    weights /= weights.sum();
    for (Eigen::Index k = 0; k < c.rows(); ++k) {
      for (Eigen::Index j = 0; j < c.rows(); ++j) {
        blocks.row(k) += weights[k] * (unit.transpose() - c.row(j).cast<double>());
      }
    }
  }
  blocks.rowwise().normalize();
  const EigenVector expected =
      Eigen::Map<const EigenVectorD>(blocks.data(), blocks.size()).normalized().cast<float>();
  const EigenVector v = as_eigen(make_vlad(centres(), options)->aggregate(patches(40)));
  EXPECT_LT((v - expected).cwiseAbs().maxCoeff(), 1e-6f);
}

TEST(Vlad, ACentreOrAPatchOfZerosDoesNoHarm) {
  Matrix c = centres();
  std::ranges::fill(c.row(2), 0.0f);  // as k-means leaves a centre without rows
  PatchFeatures some = patches(50);
  std::ranges::fill(some.patches.row(7), 0.0f);
  for (const bool soft : {false, true}) {
    VladOptions options;
    options.vlad_soft = soft;
    const EigenVector v = as_eigen(make_vlad(c, options)->aggregate(some));
    EXPECT_TRUE(v.allFinite());
    EXPECT_NEAR(v.norm(), 1, 1e-6f);
  }
}

TEST(Vlad, RefusesWhatItCannotWorkWith) {
  EXPECT_THROW(make_vlad(Matrix()), std::invalid_argument);
  Matrix bad = centres();
  bad(1, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(make_vlad(bad), std::invalid_argument);
  VladOptions options;
  options.soft_temperature = 0;
  EXPECT_THROW(make_vlad(centres(), options), std::invalid_argument);
  options = {};
  options.clusters = -1;
  EXPECT_THROW(make_vlad(centres(), options), std::invalid_argument);
  const auto head = make_vlad(centres());
  EXPECT_THROW(head->aggregate({Matrix(3, kDim + 1, 1.0f), 0, 0, {}}), std::invalid_argument);
  EXPECT_THROW(head->aggregate({Matrix(0, kDim), 0, 0, {}}), std::invalid_argument);
}

}  // namespace
}  // namespace ria
