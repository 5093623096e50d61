// SPDX-License-Identifier: MIT
// The time left, on clocks of our own.
#include "cli/recent_rate.h"

#include <gtest/gtest.h>

#include <random>

namespace ria::cli {
namespace {

/// A run that finishes pictures one by one.
struct LongRun {
  RecentRate recent;
  double now = 1000, done = 0;  // a clock starts anywhere

  explicit LongRun(double done_before = 0) : done(done_before) { recent.add(now, done); }
  void picture(double seconds) { recent.add(now += seconds, ++done); }
  void go(double seconds_each, double for_seconds) {
    for (double spent = 0; spent < for_seconds; spent += seconds_each) picture(seconds_each);
  }
  /// How many times the truth, if every picture takes so long from now on.
  double over(double seconds_each) const { return 1 / (recent.per_second() * seconds_each); }
};

TEST(RecentRate, IsNotKnownBeforeTheFirstStep) {
  RecentRate recent;
  EXPECT_EQ(recent.per_second(), 0);
  recent.add(5, 100);
  EXPECT_EQ(recent.per_second(), 0);
  recent.add(5, 101);  // no time has passed
  EXPECT_EQ(recent.per_second(), 0);
  recent.add(5.25, 102);
  EXPECT_NEAR(recent.per_second(), 8, 1e-9);
}

TEST(RecentRate, OfAConstantRateIsThatRate) {
  for (const double each : {0.001, 0.03, 0.4, 1.0, 7.0, 60.0}) {
    LongRun run;
    for (int i = 0; i < 20; ++i) {
      run.go(each, 5);
      EXPECT_NEAR(run.over(each), 1, 1e-6) << each;
    }
  }
}

TEST(RecentRate, FollowsARunThatStartsSlowly) {
  LongRun run;
  run.go(4, 40);
  EXPECT_NEAR(run.over(4), 1, 1e-6);
  run.go(0.1, 20);
  EXPECT_LT(run.over(0.1), 2);
  run.go(0.1, 20);
  EXPECT_NEAR(run.over(0.1), 1, 0.1);
}

TEST(RecentRate, ForgetsPicturesFromACache) {
  LongRun run;
  run.go(0.002, 3);  // 1500 of them
  run.go(1, 20);
  EXPECT_GT(run.over(1), 0.5);
  run.go(1, 20);
  EXPECT_NEAR(run.over(1), 1, 0.1);
}

TEST(RecentRate, DoesNotCountWhatAnEarlierRunFinished) {
  LongRun run(100000);
  run.go(0.5, 5);
  EXPECT_NEAR(run.over(0.5), 1, 1e-6);
}

TEST(RecentRate, SurvivesAStall) {
  LongRun run;
  run.go(0.1, 30);
  run.picture(60);
  EXPECT_LT(run.over(0.1), 4);  // not the 600 of that picture
  run.go(0.1, 10);
  EXPECT_LT(run.over(0.1), 1.6);
  run.go(0.1, 20);
  EXPECT_NEAR(run.over(0.1), 1, 0.1);
}

TEST(RecentRate, IsSteadyWherePicturesDiffer) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> share(0.5, 1.5);
  for (const double each : {0.05, 1.0, 5.0}) {
    LongRun run;
    for (int i = 0; i < 400; ++i) {
      run.picture(each * share(random));
      if (i < 20) continue;
      EXPECT_GT(run.over(each), 0.6) << each;
      EXPECT_LT(run.over(each), 1.6) << each;
    }
  }
}

// Two threads finish together: two steps of hardly any time and of nearly all of it.
TEST(RecentRate, TakesABurstAsOneStep) {
  LongRun run;
  for (int i = 0; i < 50; ++i) {
    run.picture(0.01);
    run.picture(1.99);
  }
  EXPECT_NEAR(run.over(1), 1, 0.02);
}

}  // namespace
}  // namespace ria::cli
