// SPDX-License-Identifier: MIT
#include "aggregate/kmeans.h"

#include <gtest/gtest.h>

#include <set>

#include "aggregate/projection.h"
#include "util/random.h"

namespace ria {
namespace {

Matrix random_rows(int rows, int dim, std::uint32_t seed) {
  return to_matrix(standard_normal(rows, dim, seed).cast<float>());
}

Matrix first_rows(const Matrix& x, int count) { return to_matrix(as_eigen(x).topRows(count)); }

/// Rows around `centres` different directions, one after the other.
Matrix clustered(int rows, int dim, int centres) {
  const EigenMatrix directions = as_eigen(random_rows(centres, dim, 3)).rowwise().normalized();
  EigenMatrix x = 0.02f * as_eigen(random_rows(rows, dim, 4));
  for (int i = 0; i < rows; ++i) x.row(i) += directions.row(i % centres);
  return to_matrix(x.rowwise().normalized());
}

/// One iteration written down from its definition.
EigenMatrix iterate(const EigenMatrix& x, const EigenMatrix& centres) {
  EigenMatrixD sums = EigenMatrixD::Zero(centres.rows(), centres.cols());
  EigenVectorD counts = EigenVectorD::Zero(centres.rows());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    Eigen::Index best = 0;
    double best_cosine = -2;
    for (Eigen::Index k = 0; k < centres.rows(); ++k) {
      const double norm = centres.row(k).cast<double>().norm();
      const double dot = centres.row(k).cast<double>().dot(x.row(i).cast<double>());
      const double cosine = norm > 0 ? dot / norm : 0;
      if (cosine > best_cosine) {
        best_cosine = cosine;
        best = k;
      }
    }
    sums.row(best) += x.row(i).cast<double>();
    counts[best] += 1;
  }
  for (Eigen::Index k = 0; k < sums.rows(); ++k) {
    if (counts[k] > 0) sums.row(k) /= counts[k];
  }
  return sums.cast<float>();
}

TEST(KMeans, IsWhatItsDefinitionSays) {
  const Matrix x = random_rows(1500, 20, 1);  // several blocks, the last one not full
  const Matrix start = choose_rows(MatrixRows(x), 7, 5);
  KMeansOptions options;
  options.max_iterations = 4;
  const KMeans found = cosine_kmeans(MatrixRows(x), start, options);
  EigenMatrix centres = as_eigen(start);
  for (int i = 0; i < 4; ++i) centres = iterate(as_eigen(x), centres);
  EXPECT_EQ(found.iterations, 4);
  EXPECT_LT((as_eigen(found.centres) - centres).cwiseAbs().maxCoeff(), 1e-6f);
}

TEST(KMeans, FindsClustersThatAreThere) {
  const Matrix x = clustered(600, 24, 5);
  const KMeans found = cosine_kmeans(MatrixRows(x), first_rows(x, 5));
  EXPECT_TRUE(found.converged);
  EXPECT_LT(found.iterations, 5);
  EXPECT_EQ(found.counts, std::vector<std::int64_t>(5, 120));
  EXPECT_GT(found.mean_cosine, 0.99);
  EXPECT_LT(as_eigen(found.centres).rowwise().norm().maxCoeff(), 1);  // means, not at length one
}

TEST(KMeans, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Matrix x = random_rows(5000, 33, 2);
  KMeansOptions one, three;
  one.num_threads = 1;
  three.num_threads = 3;
  const Matrix start = choose_rows(MatrixRows(x), 9, 1);
  const KMeans a = cosine_kmeans(MatrixRows(x), start, one);
  const KMeans b = cosine_kmeans(MatrixRows(x), start, three);
  EXPECT_EQ(a.centres, b.centres);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.mean_cosine, b.mean_cosine);
}

TEST(KMeans, ACentreWithoutRowsBecomesZero) {
  const Matrix x(4, 2, {1, 0, 1, 0.1f, 0, 1, 0.1f, 1}), start(3, 2, {1, 0, 0, 1, -1, -1});
  const KMeans found = cosine_kmeans(MatrixRows(x), start);
  EXPECT_TRUE(as_eigen(found.centres).row(2).isZero(0));
  EXPECT_EQ(found.counts, (std::vector<std::int64_t>{2, 2, 0}));
}

TEST(KMeans, TellsItsProgressAndStops) {
  const Matrix x = random_rows(2000, 16, 6);
  std::stop_source stop;
  KMeansOptions options;
  options.stop = stop.get_token();
  options.tolerance = 0;
  std::vector<int> told;
  options.progress = [&](int iterations, double moved) {
    EXPECT_GT(moved, 0);
    told.push_back(iterations);
    if (iterations == 2) stop.request_stop();
  };
  const KMeans found = cosine_kmeans(MatrixRows(x), choose_rows(MatrixRows(x), 8, 1), options);
  EXPECT_EQ(told, (std::vector<int>{1, 2}));
  EXPECT_EQ(found.iterations, 2);
  EXPECT_FALSE(found.converged);
}

TEST(KMeans, StartsFromDifferentRows) {
  Matrix x(40, 1);
  for (int i = 0; i < 40; ++i) x(i, 0) = static_cast<float>(i);
  const Matrix all = choose_rows(MatrixRows(x), 40, 7);
  EXPECT_EQ(std::set<float>(all.data(), all.data() + 40).size(), 40u);
  EXPECT_EQ(choose_rows(MatrixRows(x), 5, 7), first_rows(all, 5));
  EXPECT_NE(choose_rows(MatrixRows(x), 5, 8), first_rows(all, 5));
  EXPECT_THROW(choose_rows(MatrixRows(x), 41, 7), std::invalid_argument);
  EXPECT_THROW(choose_rows(MatrixRows(x), 0, 7), std::invalid_argument);
  EXPECT_THROW(cosine_kmeans(MatrixRows(x), Matrix(2, 3, 1.0f)), std::invalid_argument);
}

TEST(SplitMix64, IsThePublishedGeneratorAndEven) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ull);
  EXPECT_EQ(random.next(), 3203168211198807973ull);
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
}

}  // namespace
}  // namespace ria
