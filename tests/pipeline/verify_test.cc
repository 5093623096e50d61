// SPDX-License-Identifier: MIT
// Two sets of options compared on pictures.
#include "ria/verify.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ria/ria.h"
#include "support/cache_in.h"
#include "support/error_message.h"
#include "support/spill.h"
#include "support/temporary_folder.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

class Compare : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) {
      pictures_.push_back(folder_ / (std::to_string(i) + ".png"));
      save_image(pictures_.back(), render_street({0, 40.0 * i}, Condition::kDay, 96, 128, 7));
    }
    a_.longest_side = b_.longest_side = 80;
    b_.resize = "tensor_nearest";  // other features on the same grid
  }

  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
  std::vector<fs::path> pictures_;
  MethodOptions a_, b_;
};

double brute_force(std::span<const float> x, std::span<const float> y) {
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += static_cast<double>(x[i]) * y[i];
    xx += static_cast<double>(x[i]) * x[i];
    yy += static_cast<double>(y[i]) * y[i];
  }
  return xx * yy == 0 ? (xx == yy ? 1 : 0) : xy / std::sqrt(xx * yy);
}

TEST_F(Compare, EqualsBruteForce) {
  RunOptions run;
  run.names_relative_to = folder_.path();
  run.num_threads = 2;
  const PrecisionComparison all = compare_precisions("rootsift-gem", a_, b_, pictures_, run);
  ASSERT_EQ(all.pictures.size(), 3u);
  const Recognizer a("rootsift-gem", a_), b("rootsift-gem", b_);
  double mean = 0, worst = 1, descriptors = 0, worst_descriptor = 1;
  for (int i = 0; i < 3; ++i) {
    const Image image = load_image(pictures_[i]);
    const Matrix x = a.backbone().extract(preprocess(image, a.preprocessing())).patches;
    const Matrix y = b.backbone().extract(preprocess(image, b.preprocessing())).patches;
    double sum = 0, least = 1;
    for (int row = 0; row < x.rows(); ++row) {
      const double one = brute_force(x.row(row), y.row(row));
      sum += one;
      least = std::min(least, one);
    }
    const Descriptor u = a.describe(image), v = b.describe(image);
    const double descriptor = brute_force(u, v);
    EXPECT_EQ(all.pictures[i].name, std::to_string(i) + ".png");
    EXPECT_NEAR(all.pictures[i].patches_mean, sum / static_cast<double>(x.rows()), 1e-12);
    EXPECT_NEAR(all.pictures[i].patches_worst, least, 1e-12);
    EXPECT_NEAR(all.pictures[i].descriptor, descriptor, 1e-12);
    mean += sum / static_cast<double>(x.rows()) / 3;
    descriptors += descriptor / 3;
    worst = std::min(worst, least);
    worst_descriptor = std::min(worst_descriptor, descriptor);
  }
  EXPECT_NEAR(all.patches_mean, mean, 1e-12);
  EXPECT_NEAR(all.patches_worst, worst, 1e-12);
  EXPECT_NEAR(all.descriptor_mean, descriptors, 1e-12);
  EXPECT_NEAR(all.descriptor_worst, worst_descriptor, 1e-12);
  EXPECT_LT(all.patches_worst, 0.99);  // the two do differ
  EXPECT_LT(all.patches_worst, all.patches_mean);
}

TEST_F(Compare, TheSameAgreesWithItself) {
  const PrecisionComparison all = compare_precisions("rootsift-ria", a_, a_, pictures_);
  EXPECT_NEAR(all.patches_worst, 1, 1e-12);
  EXPECT_NEAR(all.descriptor_worst, 1, 1e-12);
}

TEST_F(Compare, FittedProjectionIsShared) {
  a_.ria.projection = b_.ria.projection = "pca";
  a_.ria.d = b_.ria.d = 8;
  const PrecisionComparison all = compare_precisions("rootsift-ria", a_, b_, pictures_);
  ASSERT_EQ(all.pictures.size(), 3u);
  Recognizer a("rootsift-ria", a_);
  const Recognizer b("rootsift-gem", b_);
  a.fit(pictures_);
  const Image image = load_image(pictures_[0]);
  const Descriptor u = a.describe(image);
  const Descriptor v =
      a.aggregator().aggregate(b.backbone().extract(preprocess(image, b.preprocessing())));
  EXPECT_NEAR(all.pictures[0].descriptor, brute_force(u, v), 1e-12);
}

TEST_F(Compare, CosineOfZeroVectors) {
  const Vector zero = {0, 0, 0}, one = {1, 1, 1}, opposed = {-2, -2, -2}, first = {1, 0, 0};
  EXPECT_EQ(cosine(zero, zero), 1);
  EXPECT_EQ(cosine(zero, one), 0);
  EXPECT_NEAR(cosine(one, opposed), -1, 1e-15);
  EXPECT_NEAR(cosine(first, one), 1 / std::sqrt(3.0), 1e-15);
}

TEST_F(Compare, BadPicturesAreReportedAndDifferentGridsRefused) {
  spill(pictures_[1], "no picture");
  const PrecisionComparison all = compare_precisions("rootsift-gem", a_, b_, pictures_);
  ASSERT_EQ(all.failures.size(), 1u);
  EXPECT_EQ(all.failures[0].picture, 1);
  EXPECT_EQ(all.pictures.size(), 2u);
  b_.longest_side = 64;
  const std::string message =
      message_of([&] { compare_precisions("rootsift-gem", a_, b_, pictures_); });
  EXPECT_TRUE(contains(message, "cannot be compared")) << message;
}

TEST_F(Compare, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  RunOptions run;
  run.stop = source.get_token();
  EXPECT_THROW(compare_precisions("rootsift-gem", a_, b_, pictures_, run), Interrupted);
}

TEST(Names, OfBackboneOptionsAreReadAgain) {
  for (const std::string name : {"fp32", "int8", "bf16"}) {
    EXPECT_EQ(to_string(parse_precision(name)), name);
  }
  for (const std::string name : {"token", "query", "key", "value"}) {
    EXPECT_EQ(to_string(parse_facet(name)), name);
  }
  for (const std::string name : {"hub", "hf", "reg"}) {
    EXPECT_EQ(to_string(parse_position_rule(name)), name);
  }
  EXPECT_TRUE(contains(message_of([] { parse_precision("fp64"); }), "fp32, int8, bf16"));
  EXPECT_TRUE(contains(message_of([] { parse_facet("x"); }), "token, query, key, value"));
  EXPECT_TRUE(contains(message_of([] { parse_position_rule("x"); }), "hub, hf, reg"));
}

}  // namespace
}  // namespace ria
