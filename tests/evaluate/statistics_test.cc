// SPDX-License-Identifier: MIT
#include "ria/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ria {
namespace {

std::vector<char> some_hits(int hits, int queries) {
  std::vector<char> out(static_cast<std::size_t>(queries), 0);
  std::fill_n(out.begin(), hits, 1);
  return out;
}

TEST(Statistics, TheIntervalIsThatOfABinomialShare) {
  // 160 of 200: the normal approximation gives 80 +- 1.96 sqrt(0.8 0.2 / 200) = 74.5 to 85.5.
  const Interval interval = bootstrap_interval(some_hits(160, 200));
  EXPECT_NEAR(interval.low, 74.5, 0.6);
  EXPECT_NEAR(interval.high, 85.5, 0.6);
  const Interval again = bootstrap_interval(some_hits(160, 200));
  EXPECT_EQ(interval.low, again.low);
  EXPECT_EQ(interval.high, again.high);
  const Interval sure = bootstrap_interval(some_hits(7, 7));
  EXPECT_EQ(sure.low, 100);
  EXPECT_EQ(sure.high, 100);
  BootstrapOptions wide;
  wide.confidence = 0.99;
  EXPECT_LT(bootstrap_interval(some_hits(160, 200), wide).low, interval.low);
  wide.confidence = 1;
  EXPECT_THROW(bootstrap_interval(some_hits(1, 2), wide), std::invalid_argument);
}

TEST(Statistics, ThePairedTestIsTheBinomialOne) {
  // 9 against 1 of ten throws: 2 (1 + 10) / 1024.
  std::vector<char> first(30, 1), second(30, 1);
  for (int q = 0; q < 9; ++q) second[q] = 0;
  first[20] = 0;
  const PairedTest test = paired_test(first, second);
  EXPECT_EQ(test.only_first, 9);
  EXPECT_EQ(test.only_second, 1);
  EXPECT_NEAR(test.p_value, 22.0 / 1024, 1e-12);
  EXPECT_TRUE(test.significant());
  EXPECT_EQ(paired_test(first, first).p_value, 1);
  EXPECT_NEAR(paired_test(second, first).p_value, test.p_value, 1e-15);
  EXPECT_THROW(paired_test(first, some_hits(1, 29)), std::invalid_argument);
}

TEST(Statistics, EvenSplitsAreRarelySignificant) {
  // Under the null hypothesis the test is to fire in at most 5 % of the cases.
  std::mt19937 engine(3);
  int fired = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<char> a(100), b(100);
    for (int q = 0; q < 100; ++q) {
      a[q] = static_cast<char>(engine() % 2);
      b[q] = static_cast<char>(engine() % 2);
    }
    fired += paired_test(a, b).significant() ? 1 : 0;
  }
  EXPECT_LE(fired, 28);  // 5 % of 400 and two deviations
}

TEST(Statistics, PrecisionAndRecallOfAHandMadeCase) {
  // Scores 0.9 right, 0.8 right, 0.7 wrong, 0.6 right; the fifth query has no positive.
  const std::vector<std::vector<Match>> predictions = {
      {{3, 0.6f}}, {{1, 0.9f}}, {{2, 0.8f}, {5, 0.1f}}, {{4, 0.7f}}, {{0, 0.5f}}};
  const std::vector<std::vector<int>> positives = {{3}, {1}, {2}, {9}, {}};
  const PrecisionRecall curve = precision_recall(predictions, positives);
  ASSERT_EQ(curve.points.size(), 5u);
  EXPECT_DOUBLE_EQ(curve.points[1].precision, 1);
  EXPECT_DOUBLE_EQ(curve.points[1].recall, 0.5);
  EXPECT_DOUBLE_EQ(curve.points[2].precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(curve.points[3].precision, 0.75);
  EXPECT_DOUBLE_EQ(curve.points[3].recall, 0.75);
  EXPECT_DOUBLE_EQ(curve.recall_at_full_precision, 0.5);
  EXPECT_DOUBLE_EQ(curve.average_precision, 0.25 + 0.25 + 0.25 * 0.75);
}

TEST(Statistics, EqualScoresAreAnsweredTogether) {
  const PrecisionRecall curve = precision_recall({{{1, 0.5f}}, {{2, 0.5f}}}, {{1}, {7}});
  ASSERT_EQ(curve.points.size(), 1u);
  EXPECT_DOUBLE_EQ(curve.points[0].precision, 0.5);
  EXPECT_DOUBLE_EQ(curve.recall_at_full_precision, 0);
}

TEST(Statistics, TheThresholdLeavesNormalScoresBelow) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0.3f, 0.05f);
  std::vector<float> scores(100000);
  for (float& score : scores) score = normal(engine);
  EXPECT_NEAR(open_set_threshold(scores), 0.3 + 4.753 * 0.05, 0.003);
  // A few true matches do not move it: that is what the medians are for.
  for (int i = 0; i < 1000; ++i) scores[i] = 0.95f;
  EXPECT_NEAR(open_set_threshold(scores), 0.3 + 4.753 * 0.05, 0.01);
  EXPECT_THROW(open_set_threshold({}), std::invalid_argument);
}

TEST(Statistics, SampledScoresAreAllOfThemWhereThatIsFew) {
  const Matrix queries(2, 3, {1, 0, 0, 0, 1, 0}), places(3, 3, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  std::vector<float> scores = sample_scores(queries, places);
  std::sort(scores.begin(), scores.end());
  EXPECT_EQ(scores, (std::vector<float>{0, 0, 0, 0, 1, 1}));
}

}  // namespace
}  // namespace ria
