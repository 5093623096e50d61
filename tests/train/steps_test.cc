// SPDX-License-Identifier: MIT
// Parts of the loop that need no engine: schedule, hardest pairs, the start of MLPs.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ria/aggregator.h"
#include "ria/eigen.h"
#include "train/hard_pairs.h"
#include "train/mlp_start.h"
#include "train/run_folder.h"
#include "train/schedule.h"

namespace ria {
namespace {

TEST(Schedule, FallsLinearlyFromOneToTheEnd) {
  TrainOptions options;
  options.lr_end = 0.2;
  EXPECT_DOUBLE_EQ(rate_share(options, 0, 400), 1);
  EXPECT_DOUBLE_EQ(rate_share(options, 200, 400), 0.6);
  EXPECT_DOUBLE_EQ(rate_share(options, 400, 400), 0.2);
  options.schedule_steps = 4000;
  EXPECT_DOUBLE_EQ(rate_share(options, 1000, 400), 0.8);
  EXPECT_DOUBLE_EQ(rate_share(options, 9000, 400), 0.2);
}

TEST(Schedule, RisesOverTheWarmUp) {
  TrainOptions options;
  options.warmup_steps = 4;
  EXPECT_DOUBLE_EQ(rate_share(options, 0, 8), 0.25);
  EXPECT_DOUBLE_EQ(rate_share(options, 3, 8), 1);
  EXPECT_DOUBLE_EQ(rate_share(options, 4, 8), 1);
  EXPECT_DOUBLE_EQ(rate_share(options, 6, 8), 0.6);
  for (int step = 5; step < 8; ++step) {
    EXPECT_LT(rate_share(options, step, 8), rate_share(options, step - 1, 8));
  }
}

TEST(Schedule, EpochsGiveEnoughSteps) {
  TrainOptions options;
  EXPECT_EQ(epochs_of(options, 1000), 4);
  EXPECT_EQ(epochs_of(options, 12), 5);
  options.epochs = 2;
  EXPECT_EQ(epochs_of(options, 30), 2);
}

TEST(HardPairs, AreTheHardestOfBothKindsEachOnce) {
  // Pictures on a circle; places 0: 0 and 10 degrees, 1: 12 and 80, 2: 85 and 200.
  const std::vector<double> degrees = {0, 10, 12, 80, 85, 200};
  Matrix descriptors(6, 2);
  std::vector<std::filesystem::path> files;
  for (int i = 0; i < 6; ++i) {
    descriptors(i, 0) = static_cast<float>(std::cos(degrees[i] * M_PI / 180));
    descriptors(i, 1) = static_cast<float>(std::sin(degrees[i] * M_PI / 180));
    files.push_back(std::to_string(i));
  }
  std::vector<HardPair> kept;
  for (int again = 0; again < 2; ++again) {
    add_hard_pairs(descriptors, {0, 0, 1, 1, 2, 2}, files, kept);
    ASSERT_GE(kept.size(), 3u);
    EXPECT_FALSE(kept[0].same_place);
    EXPECT_EQ(kept[0].first, "1");
    EXPECT_EQ(kept[0].second, "2");
    EXPECT_NEAR(kept[0].cosine, std::cos(2 * M_PI / 180), 1e-6);
    std::vector<HardPair> same;
    for (const HardPair& pair : kept) {
      if (pair.same_place) same.push_back(pair);
    }
    ASSERT_EQ(same.size(), 3u);
    EXPECT_EQ(same[0].first, "4");
    EXPECT_EQ(same[1].first, "2");
    EXPECT_EQ(same[2].first, "0");
  }
}

TEST(HalfWhitened, LeavesThePowerOfEachDirectionAtItsRoot) {
  const EigenMatrixD turn = as_eigen(random_orthogonal(5, 5, 3)).cast<double>();
  const EigenVectorD moments = (EigenVectorD(5) << 16, 4, 1, 0.25, 0.0625).finished();
  const EigenMatrixD second = turn * moments.asDiagonal() * turn.transpose();
  const Matrix map = half_whitened(second, 3);
  ASSERT_EQ(map.rows(), 3);
  // The moments of what the map leaves are diagonal, and roots of those that came in.
  const EigenMatrixD left =
      as_eigen(map).cast<double>() * second * as_eigen(map).cast<double>().transpose();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double expected = i == j ? std::sqrt(moments(i) * 16) : 0;
      EXPECT_NEAR(left(i, j), expected, 1e-2 * 16);
    }
  }
  EXPECT_NEAR(left(0, 0) / left(2, 2), 4, 0.01);  // a sixteenth became a quarter
}

TEST(TrainLog, LeavesRecallsOutThatWereNotMeasured) {
  TrainLogRow row;
  row.step = 2;
  row.epoch = 1;
  row.loss = 0.5;
  row.recall_at_1 = 12.5;
  const std::string csv = log_csv({TrainLogRow{}, row});
  EXPECT_TRUE(csv.starts_with("step,epoch,loss,")) << csv;
  EXPECT_NE(csv.find("\n2,1,0.5,0,0,0,0.0,0,0,12.50,\n"), std::string::npos) << csv;
}

TEST(Ladder, ChangesOneThingARung) {
  const auto rungs = train_ladder();
  ASSERT_EQ(rungs.size(), 5u);
  EXPECT_EQ(rungs[0].options.unfreeze, 0);
  EXPECT_FALSE(rungs[1].options.learn_projection);
  EXPECT_EQ(rungs[2].options.heads, 1);
  EXPECT_EQ(rungs[3].options.mlp, 0);
  EXPECT_EQ(rungs[4].options.mlp, TrainOptions{}.mlp);
  EXPECT_EQ(rungs[4].options.heads, TrainOptions{}.heads);
}

}  // namespace
}  // namespace ria
