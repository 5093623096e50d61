// SPDX-License-Identifier: MIT
#include "ria/postprocess.h"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <limits>
#include <random>

#include "nn/eigen_symmetric.h"
#include "ria/eigen.h"

namespace ria {
namespace {

/// Unit rows around a common mean, stretched along a few directions.
Matrix descriptors(int rows, int dim, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Matrix out(rows, dim);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < dim; ++j) out(i, j) = 2 + normal(engine) * 3 / static_cast<float>(j + 1);
    as_eigen(out.row(i)).normalize();
  }
  return out;
}

EigenMatrix less_mean(const Matrix& rows) {
  return as_eigen(rows).rowwise() - as_eigen(rows).colwise().mean();
}

PostprocessOptions pca(int kept, bool whiten = false) {
  PostprocessOptions options;
  options.pca = kept;
  options.whiten = whiten;
  return options;
}

TEST(Postprocess, NothingAskedChangesNothing) {
  const Matrix rows = descriptors(5, 4);
  const Postprocessor none = Postprocessor::fit(rows, {});
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.apply(rows), rows);
  EXPECT_EQ(none.dim(4), 4);
}

TEST(Postprocess, CenterRemovesTheMeanAndKeepsLengthOne) {
  const Matrix rows = descriptors(40, 12);
  PostprocessOptions options;
  options.center = true;
  const Postprocessor fitted = Postprocessor::fit(rows, options);
  const EigenMatrix expected = less_mean(rows).rowwise().normalized();
  EXPECT_LT((as_eigen(fitted.apply(rows)) - expected).cwiseAbs().maxCoeff(), 1e-5);
  // A query is treated as a row of a matrix is.
  const Matrix queries = descriptors(3, 12, 9);
  const Matrix applied = fitted.apply(queries);
  EXPECT_EQ(fitted.apply(Descriptor(queries.row(1).begin(), queries.row(1).end())),
            Descriptor(applied.row(1).begin(), applied.row(1).end()));
}

TEST(Postprocess, PcaAgreesWithTheSingularVectorsFromBothSides) {
  for (const auto& [rows, dim] : {std::pair{60, 10}, std::pair{9, 30}}) {
    const Matrix x = descriptors(rows, dim);
    const Postprocessor fitted = Postprocessor::fit(x, pca(4));
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(less_mean(x).cast<double>(), Eigen::ComputeThinV);
    for (int j = 0; j < 4; ++j) {
      const double along =
          svd.matrixV().col(j).dot(as_eigen(fitted.directions()).col(j).cast<double>());
      EXPECT_NEAR(std::abs(along), 1, 1e-5) << rows << "x" << dim << ", direction " << j;
    }
    EXPECT_EQ(fitted.dim(dim), 4);
    EXPECT_LT((as_eigen(fitted.apply(x)).rowwise().norm().array() - 1).abs().maxCoeff(), 1e-5);
  }
}

TEST(Postprocess, WhitenedDirectionsHaveVarianceOne) {
  const Matrix x = descriptors(200, 8);
  const Postprocessor fitted = Postprocessor::fit(x, pca(5, true));
  const EigenMatrix projected = less_mean(x) * as_eigen(fitted.directions());
  const EigenMatrix covariance = projected.transpose() * projected / 199;
  EXPECT_LT((covariance - EigenMatrix::Identity(5, 5)).cwiseAbs().maxCoeff(), 1e-3);
}

TEST(Postprocess, ManyRowsAreThinnedEvenly) {
  // Twice the rows, each doubled: the thinned ones are the same, so are the directions.
  const Matrix x = descriptors(Postprocessor::kMostRows, 6);
  Matrix doubled(2 * x.rows(), x.cols());
  for (int i = 0; i < doubled.rows(); ++i) as_eigen(doubled.row(i)) = as_eigen(x.row(i / 2));
  const Postprocessor once = Postprocessor::fit(x, pca(3)),
                      twice = Postprocessor::fit(doubled, pca(3));
  EXPECT_LT((as_eigen(twice.directions()) - as_eigen(once.directions())).cwiseAbs().maxCoeff(),
            1e-4);
}

TEST(Postprocess, WrongInputIsRefusedByName) {
  const auto message = [](auto run) {
    try {
      run();
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  const Matrix x = descriptors(6, 20);
  EXPECT_EQ(message([&] { Postprocessor::fit(x, pca(6)); }),
            "pca is 6, at most 5 was expected: 6 descriptors of 20 dims to fit on");
  EXPECT_EQ(message([&] { Postprocessor::fit(x, pca(-1)); }),
            "pca is -1, 0 (off) or more was expected");
  PostprocessOptions only_whiten;
  only_whiten.whiten = true;
  EXPECT_EQ(message([&] { only_whiten.validate(); }),
            "whiten goes with pca: how many directions to keep");
  EXPECT_EQ(message([&] { Postprocessor::fit(Matrix(0, 3), pca(1)); }),
            "no descriptors to fit center or pca on");
  const Postprocessor fitted = Postprocessor::fit(x, pca(2));
  EXPECT_EQ(message([&] { fitted.apply(descriptors(1, 19)); }),
            "descriptor has 19 dims, it was fitted on 20");
}

TEST(EigenSymmetric, RebuildsTheMatrix) {
  const EigenMatrixD x = as_eigen(descriptors(12, 7)).cast<double>();
  const EigenMatrixD symmetric = x.transpose() * x;
  const SymmetricEigen all = eigen_symmetric(symmetric, 7);
  const EigenMatrixD again = all.vectors * all.values.asDiagonal() * all.vectors.transpose();
  EXPECT_LT((again - symmetric).cwiseAbs().maxCoeff(), 1e-12 * symmetric.norm());
  for (int i = 1; i < 7; ++i) EXPECT_GE(all.values[i - 1], all.values[i]);
  const SymmetricEigen two = eigen_symmetric(symmetric, 2);
  EXPECT_LT((two.vectors - all.vectors.leftCols(2)).cwiseAbs().maxCoeff(), 1e-10);
}

}  // namespace
}  // namespace ria
