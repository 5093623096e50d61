// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "ria/backbone.h"
#include "ria/eigen.h"
#include "ria/rerank.h"

namespace ria {

namespace {

Matrix random_rows(int rows, int columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Matrix x(rows, columns);
  for (float& value : x.values()) value = normal(engine);
  as_eigen(x).rowwise().normalize();
  return x;
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

TEST_F(PatchRerankerTest, KeepsSignsOnTheGrid) {
  const LocalFeatures kept = reranker_->extract(view_);
  EXPECT_TRUE(kept.signs);
  EXPECT_EQ(kept.vectors.rows(), 18 * 30);
  EXPECT_EQ(kept.vectors.cols(), PatchRerankOptions{}.rerank_d);
  EXPECT_EQ(kept.grid_height, 18);
  EXPECT_EQ(kept.grid_width, 30);
  const auto vectors = as_eigen(kept.vectors);
  EXPECT_LT((vectors.rowwise().norm().array() - 1).abs().maxCoeff(), 1e-5f);
  // What all patches share is gone: positive features give vectors in all directions.
  EXPECT_LT(vectors.colwise().mean().norm(), 0.2f);
  const PackedLocalFeatures packed = pack(kept);
  EXPECT_EQ(packed.bytes.size(), 18u * 30 * 256 / 8);
  const LocalFeatures again = unpack(packed);
  EXPECT_EQ(again.vectors, kept.vectors);
  EXPECT_TRUE(again.signs);
}

TEST_F(PatchRerankerTest, SignsFollowTheAngleBetweenPatches) {
  // Two directions at an angle differ in as many signs as the angle is of a half turn; more bits
  // than there are dimensions come from further directions.
  PatchRerankOptions options;
  options.rerank_d = 2048;
  const auto fine = make_patch_reranker(kDim, options);
  const LocalFeatures kept = fine->extract(view_);
  EigenMatrix exact = as_eigen(view_.patches);
  exact.rowwise().normalize();
  exact.rowwise() -= exact.colwise().mean().eval();
  exact.rowwise().normalize();
  double worst = 0;
  for (int x = 1; x < 28; ++x) {
    const double cosine = exact.row(5 * 30 + x).dot(exact.row(5 * 30 + x + 1));
    const double signs =
        as_eigen(kept.vectors).row(5 * 30 + x).dot(as_eigen(kept.vectors).row(5 * 30 + x + 1));
    worst = std::max(worst, std::abs(1 - std::acos(cosine) / std::acos(0.0) - signs));
  }
  EXPECT_LT(worst, 5 / std::sqrt(2048.0));
}

TEST_F(PatchRerankerTest, APictureIsMostAlikeToItself) {
  EXPECT_NEAR(score(view_, view_), 1, 1e-5);
  EXPECT_LT(score(view_, window(scene_, 60, 12, 13, 18, 30)), 0.999);
}

TEST_F(PatchRerankerTest, ShiftKeepsWhatShufflingLoses) {
  const PatchFeatures shifted = window(scene_, 60, 12, 15, 18, 30);  // 16 x 25 of 18 x 30 shared
  // Cells at the border of what is shared have other surroundings.
  EXPECT_GT(score(view_, shifted), 14.0 * 23 / (18 * 30));
  EXPECT_LT(score(view_, shifted), 16.0 * 25 / (18 * 30));

  PatchFeatures shuffled = view_;
  std::vector<int> order(view_.patches.rows());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  shuffled.patches = to_matrix(as_eigen(view_.patches)(order, Eigen::all));
  EXPECT_LT(score(view_, shuffled), 0.1);

  // What is kept, shuffled: every patch is found again, nowhere near.
  const LocalFeatures kept = reranker_->extract(view_);
  const LocalFeatures mixed{to_matrix(as_eigen(kept.vectors)(order, Eigen::all)), 18, 30, true};
  EXPECT_LT(reranker_->score(kept, mixed), 0.1);
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

TEST_F(PatchRerankerTest, TellsHowMuchLargerThingsAre) {
  // The middle 12 x 20 cells of the view fill the whole picture.
  PatchFeatures nearer{Matrix(18 * 30, kDim), 18, 30, {}};
  for (int y = 0; y < 18; ++y)
    for (int x = 0; x < 30; ++x)
      std::ranges::copy(view_.patches.row((3 + y * 2 / 3) * 30 + 5 + x * 2 / 3),
                        nearer.patches.row(y * 30 + x).begin());
  const LocalFeatures query = reranker_->extract(view_), place = reranker_->extract(nearer);
  EXPECT_GT(reranker_->compare(query, place).scale, 1.2);
  EXPECT_LT(reranker_->compare(place, query).scale, 0.9);
  EXPECT_NEAR(reranker_->compare(query, query).scale, 1, 1e-6);
}

TEST_F(PatchRerankerTest, KeptFeaturesCompareAsTheFeatures) {
  const LocalFeatures query = reranker_->extract(view_);
  const auto prepared = reranker_->prepare(pack(query));
  for (const int top : {12, 3, 10}) {  // of several sizes, so that memory is used again
    const LocalFeatures place = reranker_->extract(window(scene_, 60, top, 15, 18 - top, 30));
    const Agreement kept = prepared->compare(pack(place)),
                    direct = reranker_->compare(query, place);
    EXPECT_EQ(kept.score, direct.score);
    EXPECT_EQ(kept.down, direct.down);
    EXPECT_EQ(kept.right, direct.right);
    EXPECT_EQ(kept.scale, direct.scale);
    EXPECT_EQ(kept.pairs, direct.pairs);
  }
}

TEST_F(PatchRerankerTest, SaysOfEachCellHowAlikeWhatWasFoundIs) {
  const auto prepared = reranker_->prepare(pack(reranker_->extract(view_)));
  EXPECT_TRUE(prepared->likeness().cells.empty());  // nothing was compared
  const auto compared = [&](const PatchFeatures& place) {
    prepared->compare(pack(reranker_->extract(place)));
    return prepared->likeness().cells;
  };
  const std::vector<float> itself = compared(view_);
  ASSERT_EQ(itself.size(), 18u * 30);
  EXPECT_NEAR(*std::ranges::min_element(itself), 1, 1e-5);
  // Rows 2 and columns 5 from the border on are shared, and so is all around them two cells on.
  const std::vector<float> shifted = compared(window(scene_, 60, 12, 15, 18, 30));
  for (int y = 2; y < 18; ++y)
    for (int x = 5; x < 30; ++x) EXPECT_GT(shifted[y * 30 + x], y >= 6 && x >= 9 ? 0.95 : 0.3);
  EXPECT_LT(shifted[0], 0.3);
  // On the query's grid, whatever the place's is.
  ASSERT_EQ(compared(window(scene_, 60, 12, 15, 9, 15)).size(), 18u * 30);
  // Nothing is like a picture without texture.
  const std::vector<float> flat = compared({Matrix(18 * 30, kDim, 0.3f), 18, 30, {}});
  ASSERT_EQ(flat.size(), 18u * 30);
  EXPECT_EQ(*std::ranges::max_element(flat), 0);
}

TEST_F(PatchRerankerTest, RefusesWhatWasKeptOtherwise) {
  const LocalFeatures kept = reranker_->extract(view_);
  LocalFeatures halves = kept;
  halves.signs = false;
  const auto prepared = reranker_->prepare(pack(kept));
  EXPECT_THROW(prepared->compare(pack(halves)), std::invalid_argument);
  EXPECT_THROW(reranker_->prepare(pack(halves)), std::invalid_argument);
  PackedLocalFeatures cut = pack(kept);
  cut.bytes.pop_back();
  EXPECT_THROW(prepared->compare(cut), std::invalid_argument);
  EXPECT_THROW(unpack(cut), std::invalid_argument);
}

TEST_F(PatchRerankerTest, OtherSceneScoresLow) {
  PatchFeatures other = view_;
  other.patches = to_matrix(as_eigen(random_rows(18 * 30, kDim, 8)).cwiseAbs());
  EXPECT_LT(score(view_, other), 0.1);
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
  EXPECT_GT(score(view_, finer), 0.4);  // with less around each
  EXPECT_GT(score(finer, view_), 0.4);
  PatchFeatures upright = window(scene_, 60, 4, 14, 30, 18);  // 18 x 18 shared
  EXPECT_GT(score(view_, upright), 16.0 * 16 / (30 * 18));
  EXPECT_LT(score(view_, upright), 18.0 * 18 / (30 * 18));
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
  EXPECT_EQ(reranker_->score({Matrix(0, 256), 0, 0}, reranker_->extract(view_)), 0);
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
  EXPECT_THROW(reranker_->score(kept, {random_rows(5, 256, 1), 2, 2}), std::invalid_argument);
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

std::vector<int> places(const std::vector<Match>& ordered) {
  std::vector<int> list;
  for (const Match& match : ordered) list.push_back(match.place);
  return list;
}

TEST(PatchRerankOrder, IsByPatchesMovedALittleByTheCosine) {
  const std::vector<Match> matches = {{7, 0.9f}, {3, 0.8f}, {5, 0.7f}};
  PatchRerankOptions options;
  options.rerank_d = 32;
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

TEST(PatchRerankOrder, CountsWhatSetsAPlaceApart) {
  PatchRerankOptions options;
  options.rerank_d = 32;
  options.rerank_cosine_weight = 0;
  const auto reranker = make_patch_reranker(8, options);
  const std::vector<Match> matches = {{7, 0.9f}, {3, 0.8f}, {5, 0.7f}};
  const std::vector<double> scores = {0.31, 0.3, 0.29};
  // All have the same road; 5 alone has what the last two cells show.
  const std::vector<Likeness> likenesses = {{{0.9f, 0.9f, 0.3f, 0.2f}, 0.1},
                                            {{0.9f, 0.9f, 0.3f, 0.2f}, 0.1},
                                            {{0.9f, 0.9f, 0.7f, 0.5f}, 0.1}};
  const std::vector<Match> ordered = reranker->reorder(matches, scores, likenesses);
  EXPECT_EQ(places(ordered).front(), 5);
  EXPECT_FLOAT_EQ(ordered.front().score, 0.29f);  // its own

  // More of what all show changes nothing, nor does how alike all of it is.
  std::vector<Likeness> more = likenesses;
  for (Likeness& one : more) one.cells.insert(one.cells.end(), 5, 0.8f);
  const std::vector<Match> again = reranker->reorder(matches, scores, more);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].place, ordered[i].place);
    EXPECT_NEAR(again[i].score, ordered[i].score, 1e-6);
  }
}

TEST(PatchRerankOrder, IsByScoreWhereNothingSetsPlacesApart) {
  const auto reranker = make_patch_reranker(8);
  const std::vector<Match> matches = {{7, 0.9f}, {3, 0.8f}, {5, 0.7f}};
  const std::vector<double> scores = {0.1, 0.4, 0.5};
  const std::vector<Match> plain = reranker->reorder(matches, scores);
  for (const std::vector<Likeness>& likenesses :
       {std::vector<Likeness>(3, {{0.5f, 0.2f}, 0.1}),  // all the same
        std::vector<Likeness>(3),                       // not known
        std::vector<Likeness>{{{0.5f}, 0.1}, {{0.1f, 0.2f}, 0.1}, {}}}) {
    const std::vector<Match> ordered = reranker->reorder(matches, scores, likenesses);
    EXPECT_EQ(places(ordered), places(plain));
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(ordered[i].score, plain[i].score);
  }
  EXPECT_FLOAT_EQ(reranker->reorder({{1, .5f}}, {.3}, {{{0.4f, 0.6f}, 0.1}})[0].score, 0.3f);
}

TEST(PatchRerankOptions, AreChecked) {
  const auto refused = [](auto change) {
    PatchRerankOptions options;
    change(options);
    EXPECT_THROW(make_patch_reranker(kDim, options), std::invalid_argument);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused([](PatchRerankOptions& o) { o.rerank_d = 0; });
  refused([](PatchRerankOptions& o) { o.rerank_d = 100; });
  refused([](PatchRerankOptions& o) { o.rerank_d = 8192 + 32; });
  refused([](PatchRerankOptions& o) { o.rerank_tolerance = 0; });
  refused([](PatchRerankOptions& o) { o.rerank_tolerance = 1.5; });
  refused([&](PatchRerankOptions& o) { o.rerank_tolerance = nan; });
  refused([](PatchRerankOptions& o) { o.rerank_cosine_weight = -1; });
  refused([&](PatchRerankOptions& o) { o.rerank_cosine_weight = nan; });
}

}  // namespace
}  // namespace ria
