// SPDX-License-Identifier: MIT
#include "ria/rerank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "nn/nearest.h"
#include "rerank/mutual.h"
#include "ria/backbone.h"
#include "ria/eigen.h"
#include "support/all_kernels.h"

namespace ria {

namespace {

using Pairs = std::vector<std::pair<int, int>>;

Matrix random_rows(int rows, int columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Matrix x(rows, columns);
  for (float& value : x.values()) value = normal(engine);
  as_eigen(x).rowwise().normalize();
  return x;
}

/// Small whole numbers: every product is exact in any order, and many are equal.
Matrix whole_rows(int rows, int columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> whole(-2, 2);
  Matrix x(rows, columns);
  for (float& value : x.values()) value = static_cast<float>(whole(engine));
  return x;
}

NearestRows brute_force(const Matrix& a, const Matrix& b) {
  const EigenMatrixD products = as_eigen(a).cast<double>() * as_eigen(b).cast<double>().transpose();
  NearestRows nearest{std::vector<std::int32_t>(a.rows(), -1),
                      std::vector<std::int32_t>(b.rows(), -1)};
  for (int i = 0; i < a.rows() && b.rows() > 0; ++i) {
    nearest.of_a[i] = 0;
    for (int j = 1; j < b.rows(); ++j)
      if (products(i, j) > products(i, nearest.of_a[i])) nearest.of_a[i] = j;
  }
  for (int j = 0; j < b.rows() && a.rows() > 0; ++j) {
    nearest.of_b[j] = 0;
    for (int i = 1; i < a.rows(); ++i)
      if (products(i, j) > products(nearest.of_b[j], j)) nearest.of_b[j] = i;
  }
  return nearest;
}

Pairs mutual(const NearestRows& nearest) {
  Pairs pairs;
  for (int i = 0; i < static_cast<int>(nearest.of_a.size()); ++i)
    if (nearest.of_a[i] >= 0 && nearest.of_b[nearest.of_a[i]] == i)
      pairs.emplace_back(i, nearest.of_a[i]);
  return pairs;
}

class NearestRowsTest : public testing::TestWithParam<const PanelKernels*> {};

TEST_P(NearestRowsTest, EqualsBruteForceWithTies) {
  constexpr int kSizes[][3] = {
      {1, 1, 1}, {1, 50, 3}, {50, 1, 3}, {7, 25, 4}, {48, 24, 5}, {255, 49, 2}, {600, 301, 3}};
  for (const auto& [rows, columns, k] : kSizes) {
    const Matrix a = whole_rows(rows, k, 1), b = whole_rows(columns, k, 2);
    const NearestRows actual = nearest_rows(a, b, *GetParam()), expected = brute_force(a, b);
    EXPECT_EQ(actual.of_a, expected.of_a) << rows << " x " << columns;
    EXPECT_EQ(actual.of_b, expected.of_b) << rows << " x " << columns;
  }
}

TEST_P(NearestRowsTest, LooksPastProductsBelowZero) {
  // Rows that are all opposed: padding that counts as zero would win.
  const Matrix a = to_matrix(-as_eigen(whole_rows(5, 3, 1)).array().abs() - 1);
  const Matrix b = to_matrix(as_eigen(whole_rows(3, 3, 2)).array().abs() + 1);
  const NearestRows actual = nearest_rows(a, b, *GetParam()), expected = brute_force(a, b);
  EXPECT_EQ(actual.of_a, expected.of_a);
  EXPECT_EQ(actual.of_b, expected.of_b);
}

TEST_P(NearestRowsTest, NanIsNobodysNeighbour) {
  Matrix a = random_rows(30, 8, 1);
  const Matrix b = random_rows(40, 8, 2);
  a(4, 2) = std::numeric_limits<float>::quiet_NaN();
  const NearestRows nearest = nearest_rows(a, b, *GetParam());
  EXPECT_EQ(nearest.of_a[4], -1);
  EXPECT_EQ(std::count(nearest.of_b.begin(), nearest.of_b.end(), 4), 0);
}

INSTANTIATE_TEST_SUITE_P(Cpus,
                         NearestRowsTest,
                         testing::ValuesIn(all_kernels()),
                         [](const auto& info) { return info.param->name; });

TEST(MutualNeighbours, EqualBruteForce) {
  const Matrix a = random_rows(510, 64, 1), b = random_rows(690, 64, 2);
  const Pairs pairs = mutual_neighbours(a, b);
  EXPECT_EQ(pairs, mutual(brute_force(a, b)));
  EXPECT_GT(pairs.size(), 50u);
}

TEST(MutualNeighbours, NoneOfNothing) {
  EXPECT_TRUE(mutual_neighbours(Matrix(0, 8), random_rows(5, 8, 1)).empty());
  EXPECT_TRUE(mutual_neighbours(random_rows(5, 8, 1), Matrix(0, 8)).empty());
}

TEST(MutualNeighbours, OfOneWidthOnly) {
  EXPECT_THROW(mutual_neighbours(random_rows(5, 8, 1), random_rows(5, 9, 1)),
               std::invalid_argument);
}

/// A picture of unrelated patches, seen through a window of a larger scene.
PatchFeatures window(
    const Matrix& scene, int scene_width, int top, int left, int height, int width) {
  PatchFeatures view{Matrix(height * width, scene.cols()), height, width, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      std::ranges::copy(scene.row((top + y) * scene_width + left + x),
                        view.patches.row(y * width + x).begin());
  return view;
}

constexpr int kDim = 96;

class PatchRerankerTest : public testing::Test {
 protected:
  double score(const PatchFeatures& query, const PatchFeatures& place) const {
    return reranker_->score(reranker_->extract(query), reranker_->extract(place));
  }

  std::unique_ptr<Reranker> reranker_ = make_patch_reranker(kDim, {});
  Matrix scene_ =
      to_matrix(as_eigen(random_rows(40 * 60, kDim, 7)).cwiseAbs());  // as behind a ReLU
  PatchFeatures view_ = window(scene_, 60, 10, 10, 18, 30);
};

TEST_F(PatchRerankerTest, KeepsUnitVectorsOnTheGrid) {
  const LocalFeatures kept = reranker_->extract(view_);
  EXPECT_EQ(kept.vectors.rows(), 18 * 30);
  EXPECT_EQ(kept.vectors.cols(), PatchRerankOptions{}.rerank_d);
  EXPECT_EQ(kept.grid_height, 18);
  EXPECT_EQ(kept.grid_width, 30);
  const auto vectors = as_eigen(kept.vectors);
  EXPECT_LT((vectors.rowwise().norm().array() - 1).abs().maxCoeff(), 1e-5f);
  // What all patches share is gone: positive features give vectors in all directions.
  EXPECT_LT(vectors.colwise().mean().norm(), 0.1f);
}

TEST_F(PatchRerankerTest, APictureIsMostAlikeToItself) {
  EXPECT_NEAR(score(view_, view_), 1, 1e-5);
  EXPECT_LT(score(view_, window(scene_, 60, 12, 13, 18, 30)), 0.999);
}

TEST_F(PatchRerankerTest, ShiftKeepsWhatShufflingLoses) {
  const PatchFeatures shifted = window(scene_, 60, 12, 15, 18, 30);  // 16 x 25 of 18 x 30 shared
  const double shared = 16.0 * 25 / (18 * 30);
  EXPECT_NEAR(score(view_, shifted), shared, 0.05);

  PatchFeatures shuffled = view_;
  std::vector<int> order(view_.patches.rows());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  shuffled.patches = to_matrix(as_eigen(view_.patches)(order, Eigen::all));
  const LocalFeatures a = reranker_->extract(view_), b = reranker_->extract(shuffled);
  EXPECT_EQ(mutual_neighbours(a.vectors, b.vectors).size(), order.size());  // all found again
  EXPECT_LT(reranker_->score(a, b), 0.1);                                   // nowhere near
}

TEST_F(PatchRerankerTest, TellsWhereTheViewMoved) {
  const LocalFeatures query = reranker_->extract(view_);
  const LocalFeatures place = reranker_->extract(window(scene_, 60, 12, 15, 18, 30));
  const Agreement agreement = reranker_->compare(query, place);
  EXPECT_NEAR(agreement.down, -2, 0.5);
  EXPECT_NEAR(agreement.right, -5, 0.5);
  EXPECT_NEAR(agreement.scale, 1, 0.1);
  EXPECT_NEAR(agreement.pairs, 16 * 25, 25);

  const std::vector<CellPair> pairs = reranker_->agreeing_pairs(query, place);
  ASSERT_EQ(std::ssize(pairs), agreement.pairs);
  int right = 0;
  for (const CellPair& pair : pairs) {
    right += pair.query - pair.place == 2 * 30 + 5;
    EXPECT_GT(pair.weight, 0);
    EXPECT_LE(pair.weight, 1 + 1e-5);
  }
  EXPECT_GT(right, 0.9 * 16 * 25);
  EXPECT_TRUE(std::ranges::is_sorted(pairs, {}, &CellPair::query));
}

TEST_F(PatchRerankerTest, KeptFeaturesCompareAsTheFeatures) {
  const LocalFeatures query = reranker_->extract(view_);
  const auto prepared = reranker_->prepare(pack(query));
  for (const int top : {12, 3, 10}) {
    const LocalFeatures place = reranker_->extract(window(scene_, 60, top, 15, 18, 30));
    EXPECT_NEAR(prepared->compare(pack(place)).score, reranker_->score(query, place), 0.01);
  }
}

TEST_F(PatchRerankerTest, OtherSceneScoresLow) {
  PatchFeatures other = view_;
  other.patches = to_matrix(as_eigen(random_rows(18 * 30, kDim, 8)).cwiseAbs());
  EXPECT_LT(score(view_, other), 0.05);
}

TEST_F(PatchRerankerTest, ExchangingThePicturesChangesRoundingOnly) {
  const PatchFeatures smaller = window(scene_, 60, 12, 15, 12, 20);
  EXPECT_NEAR(score(view_, smaller), score(smaller, view_), 1e-6);
}

TEST_F(PatchRerankerTest, GridsMayDiffer) {
  // Twice as many patches along each side of the same picture: each has four likenesses.
  PatchFeatures finer{Matrix(36 * 60, kDim), 36, 60, {}};
  const Matrix noise = random_rows(36 * 60, kDim, 9);
  for (int i = 0; i < 36 * 60; ++i)
    as_eigen(finer.patches.row(i)) =
        as_eigen(view_.patches.row(i / 60 / 2 * 30 + i % 60 / 2)) + 0.1f * as_eigen(noise.row(i));
  EXPECT_GT(score(view_, finer), 0.8);
  EXPECT_GT(score(finer, view_), 0.8);
  PatchFeatures upright = window(scene_, 60, 4, 14, 30, 18);  // 18 x 18 shared
  EXPECT_NEAR(score(view_, upright), 18.0 * 18 / (30 * 18), 0.05);
}

TEST_F(PatchRerankerTest, OfSeveralScalesTheFirstIsKept) {
  PatchFeatures scales{Matrix(2 * 18 * 30, kDim), 18, 30, {}};
  const auto once = as_eigen(view_.patches);
  as_eigen(scales.patches) << once, 2 * once;
  const LocalFeatures kept = reranker_->extract(scales), alone = reranker_->extract(view_);
  EXPECT_LT((as_eigen(kept.vectors) - as_eigen(alone.vectors)).norm(), 1e-3f);
}

TEST_F(PatchRerankerTest, FlatPicturesScoreNothing) {
  const PatchFeatures one = window(scene_, 60, 0, 0, 1, 1);
  EXPECT_EQ(score(one, one), 0);
  const PatchFeatures flat{Matrix(18 * 30, kDim, 0.3f), 18, 30, {}};
  EXPECT_EQ(score(flat, flat), 0);
  EXPECT_EQ(score(flat, view_), 0);
  EXPECT_EQ(reranker_->score({Matrix(0, 64), 0, 0}, reranker_->extract(view_)), 0);
}

TEST_F(PatchRerankerTest, RefusesWhatItCannotRead) {
  EXPECT_THROW(reranker_->extract({Matrix(4, kDim + 1, 1.0f), 2, 2, {}}), std::invalid_argument);
  EXPECT_THROW(reranker_->extract({Matrix(3, kDim, 1.0f), 2, 2, {}}), std::invalid_argument);
  EXPECT_THROW(reranker_->extract({Matrix(0, kDim), 0, 0, {}}), std::invalid_argument);
  PatchFeatures with_nan = view_;
  with_nan.patches(3, 5) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(reranker_->extract(with_nan), std::invalid_argument);

  const LocalFeatures kept = reranker_->extract(view_);
  EXPECT_THROW(reranker_->score(kept, {random_rows(4, 32, 1), 2, 2}), std::invalid_argument);
  EXPECT_THROW(reranker_->score(kept, {random_rows(5, 64, 1), 2, 2}), std::invalid_argument);
}

TEST_F(PatchRerankerTest, SameBitsForAnyNumberOfThreads) {
  const PatchFeatures shifted = window(scene_, 60, 12, 15, 18, 30);
  set_thread_cores(1);
  const LocalFeatures a = reranker_->extract(view_), b = reranker_->extract(shifted);
  const double alone = reranker_->score(a, b);
  set_thread_cores(3);
  EXPECT_EQ(reranker_->extract(view_).vectors, a.vectors);
  EXPECT_EQ(reranker_->score(a, b), alone);
  set_thread_cores(0);
  std::vector<double> together(8);
  {
    std::vector<std::jthread> threads;
    for (double& value : together) threads.emplace_back([&] { value = reranker_->score(a, b); });
  }
  for (const double value : together) EXPECT_EQ(value, alone);
}

TEST(PatchRerankOrder, IsByPatchesMovedALittleByTheCosine) {
  const std::vector<Match> matches = {{7, 0.9f}, {3, 0.8f}, {5, 0.7f}};
  const auto places = [](const std::vector<Match>& ordered) {
    std::vector<int> list;
    for (const Match& match : ordered) list.push_back(match.place);
    return list;
  };
  PatchRerankOptions options;
  options.rerank_d = 4;
  options.rerank_cosine_weight = 0;
  const auto patches_only = make_patch_reranker(8, options)->reorder(matches, {0.1, 0.48, 0.5});
  EXPECT_EQ(places(patches_only), (std::vector{5, 3, 7}));
  EXPECT_FLOAT_EQ(patches_only[0].score, 0.5f);
  options.rerank_cosine_weight = 0.25;
  EXPECT_EQ(places(make_patch_reranker(8, options)->reorder(matches, {0.1, 0.48, 0.5})),
            (std::vector{3, 5, 7}));  // nearly equal: the cosine decides
  // One cosine, one match, none: nothing to weigh.
  EXPECT_EQ(places(make_patch_reranker(8, options)->reorder({{1, .5f}, {2, .5f}}, {.1, .2})),
            (std::vector{2, 1}));
  EXPECT_FLOAT_EQ(make_patch_reranker(8, options)->reorder({{1, .5f}}, {.3})[0].score, 0.3f);
  EXPECT_TRUE(make_patch_reranker(8, options)->reorder({}, {}).empty());
  EXPECT_THROW(make_patch_reranker(8, options)->reorder(matches, {0.1}), std::invalid_argument);
}

TEST(PatchRerankOptions, AreChecked) {
  const auto refused = [](auto change) {
    PatchRerankOptions options;
    change(options);
    EXPECT_THROW(make_patch_reranker(kDim, options), std::invalid_argument);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused([](PatchRerankOptions& o) { o.rerank_d = 0; });
  refused([](PatchRerankOptions& o) { o.rerank_d = kDim + 1; });
  refused([](PatchRerankOptions& o) { o.rerank_tolerance = 0; });
  refused([](PatchRerankOptions& o) { o.rerank_tolerance = 1.5; });
  refused([&](PatchRerankOptions& o) { o.rerank_tolerance = nan; });
  refused([](PatchRerankOptions& o) { o.rerank_cosine_weight = -1; });
  refused([&](PatchRerankOptions& o) { o.rerank_cosine_weight = nan; });
}

}  // namespace
}  // namespace ria
