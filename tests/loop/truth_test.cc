// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>

#include "ria/loop_truth.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

/// Precision and recall at every threshold, counted anew for each.
LoopMeasures by_force(const LoopTruth& truth,
                      const std::vector<SaidLoop>& said,
                      const LoopMeasureOptions& options) {
  LoopMeasures m;
  for (int i = 0; i < static_cast<int>(truth.loops.size()); ++i) {
    bool old = false;
    for (const int j : truth.loops[i]) old |= i - j > options.recent;
    m.to_find += old;
  }
  const auto right = [&](const SaidLoop& one) {
    for (const int j : truth.loops[one.frame]) {
      if (std::abs(j - one.place) <= options.tolerance) return true;
    }
    return false;
  };
  double before = 0;
  std::vector<double> thresholds;
  for (const SaidLoop& one : said) thresholds.push_back(one.probability);
  std::sort(thresholds.rbegin(), thresholds.rend());
  for (const double threshold : thresholds) {
    double count = 0, good = 0;
    for (const SaidLoop& one : said) {
      if (one.place < 0 || one.probability < threshold) continue;
      ++count;
      good += right(one);
    }
    if (count == 0) continue;
    const double precision = good / count, recall = good / m.to_find;
    m.average_precision += (recall - before) * precision;
    before = recall;
    if (good == count) m.max_recall_at_full_precision = recall;
    if (precision >= 0.99) m.recall_at_99_precision = recall;
  }
  for (const SaidLoop& one : said) {
    if (one.place < 0 || one.probability < options.decision) continue;
    ++m.said;
    m.right += right(one);
  }
  return m;
}

TEST(LoopTruth, MeasuresAreThoseOfCounting) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    LoopTruth truth;
    std::vector<SaidLoop> said;
    for (int i = 0; i < 120; ++i) {
      truth.images.push_back(std::to_string(i));
      truth.loops.emplace_back();
      for (int j = 0; j < i; ++j) {
        if (random() % 60 == 0) truth.loops.back().push_back(j);
      }
      SaidLoop one{i, i > 0 && random() % 5 != 0 ? static_cast<int>(random() % i) : -1, 0};
      if (!truth.loops[i].empty() && random() % 2 == 0) one.place = truth.loops[i][0];
      one.probability = static_cast<double>(random() % 20) / 19;  // many are equal
      said.push_back(one);
    }
    LoopMeasureOptions options;
    options.recent = 20;
    options.tolerance = round % 3;
    const LoopMeasures found = measure_loops(truth, said, options);
    const LoopMeasures expected = by_force(truth, said, options);
    EXPECT_EQ(found.to_find, expected.to_find);
    EXPECT_EQ(found.said, expected.said);
    EXPECT_EQ(found.right, expected.right);
    EXPECT_NEAR(found.average_precision, expected.average_precision, 1e-12);
    EXPECT_NEAR(found.max_recall_at_full_precision, expected.max_recall_at_full_precision, 1e-12);
    EXPECT_NEAR(found.recall_at_99_precision, expected.recall_at_99_precision, 1e-12);
    int counted = 0;
    for (const ReliabilityBin& bin : found.reliability) counted += bin.count;
    EXPECT_EQ(counted, std::count_if(said.begin(), said.end(), [](const SaidLoop& one) {
                return one.place >= 0;
              }));
  }
}

TEST(LoopTruth, ToleranceIsOnEitherSide) {
  const LoopTruth truth{{"a", "b", "c", "d", "e", "f"}, {{}, {}, {}, {}, {}, {2}}};
  EXPECT_TRUE(is_true_loop(truth, 5, 1, 1));
  EXPECT_TRUE(is_true_loop(truth, 5, 3, 1));
  EXPECT_FALSE(is_true_loop(truth, 5, 4, 1));
  EXPECT_FALSE(is_true_loop(truth, 5, 3, 0));
  EXPECT_FALSE(is_true_loop(truth, 4, 2, 1));
}

TEST(LoopTruth, NamesWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  const auto error = [&](const char* text) {
    write_text(folder / "loops.json", text);
    return message_of([&] { load_loop_truth(folder / "loops.json"); });
  };
  EXPECT_NE(error("[1]").find("images and loops"), std::string::npos);
  EXPECT_NE(error(R"({"images": ["a"], "loops": []})").find("1 images, 0 lists"),
            std::string::npos);
  EXPECT_NE(error(R"({"images": ["a", "b"], "loops": [[], [1]]})").find("loops[1] names 1"),
            std::string::npos);
  EXPECT_NE(error(R"({"images": ["a", "b"], "loops": [[], [-1]]})").find("names -1"),
            std::string::npos);
  write_text(folder / "loops.json", R"({"images": ["a", "b"], "loops": [[], [0]]})");
  EXPECT_EQ(load_loop_truth(folder / "loops.json").loops[1], std::vector<int>{0});
}

}  // namespace
}  // namespace ria
