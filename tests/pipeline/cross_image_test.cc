// SPDX-License-Identifier: MIT
// Which pictures a cross-image encoder sees together.
#include <gtest/gtest.h>

#include "method/random_weights.h"
#include "pipeline/maker.h"
#include "ria/eigen.h"
#include "ria/ria.h"
#include "support/cache_in.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

class CrossImagePipeline : public ::testing::Test {
 protected:
  static constexpr int kPictures = 5;

  void SetUp() override {
    for (int i = 0; i < kPictures; ++i) {
      pictures_.push_back(folder_ / (std::to_string(i) + ".png"));
      save_image(pictures_.back(), render_street({0, 40.0 * i}, Condition::kDay, 56, 56, 7));
    }
  }

  static std::unique_ptr<Recognizer> recognizer(int cross_image) {
    static const TensorFile weights = random_weights(find_method("supervlad"));
    MethodOptions options;
    options.image_height = options.image_width = 56;
    options.cross_image = cross_image;
    options.backbone.weights = "made up";  // names the features; the file is never opened
    return RecognizerMaker::from_tensors({&find_method("supervlad"), options}, weights);
  }

  /// The descriptors of these pictures, seen together.
  std::vector<Descriptor> together(const Recognizer& r, const std::vector<int>& numbers) const {
    std::vector<PatchFeatures> features;
    for (const int i : numbers) {
      features.push_back(
          r.backbone().extract(preprocess(load_image(pictures_[i]), r.preprocessing())));
    }
    return r.aggregator().aggregate_together(features);
  }

  void expect_rows(const Matrix& rows, const Recognizer& r, const std::vector<int>& group) const {
    const auto expected = together(r, group);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const double off =
          (as_eigen(rows.row(group[i])) - as_eigen(expected[i])).cwiseAbs().maxCoeff();
      EXPECT_LE(off, 1e-6) << "picture " << group[i];
    }
  }

  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
  std::vector<fs::path> pictures_;
};

TEST_F(CrossImagePipeline, GroupsFollowTheListAndStopAtTheSplit) {
  const auto two = recognizer(2);
  RunOptions run;
  run.num_threads = 2;
  run.split = 3;
  const Descriptions described = two->describe(pictures_, run);
  ASSERT_TRUE(described.failures.empty()) << described.failures[0].reason;
  const Matrix& rows = described.descriptors;
  for (const std::vector<int>& group : {std::vector<int>{0, 1}, {2}, {3, 4}}) {
    expect_rows(rows, *two, group);
  }
  // One by one is the method's own.
  const auto one = recognizer(0);
  EXPECT_EQ(one->options().cross_image, 1);
  const Matrix alone = one->describe(pictures_, run).descriptors;
  expect_rows(alone, *one, {2});
  EXPECT_GT((as_eigen(alone.row(0)) - as_eigen(rows.row(0))).norm(), 1e-4);
}

TEST_F(CrossImagePipeline, APictureThatCannotBeReadIsLeftOutOfItsGroup) {
  const auto three = recognizer(3);
  write_text(pictures_[1], "no picture");
  const Descriptions all = three->describe(pictures_);
  ASSERT_EQ(all.failures.size(), 1u) << all.failures.back().reason;
  EXPECT_EQ(all.failures[0].picture, 1);
  expect_rows(all.descriptors, *three, {0, 2});
  expect_rows(all.descriptors, *three, {3, 4});
}

TEST_F(CrossImagePipeline, AnInterruptedRunGoesOnWithTheSameGroups) {
  const auto two = recognizer(2);
  RunOptions run;
  run.num_threads = 1;
  const Matrix whole = two->describe(pictures_, run).descriptors;
  std::stop_source stop;
  RunOptions interrupted = run;
  interrupted.stop = stop.get_token();
  interrupted.progress = [&](int done, int) {
    if (done == 2) stop.request_stop();
  };
  EXPECT_THROW(two->describe(pictures_, interrupted), Interrupted);
  int first = 0;
  run.progress = [&](int done, int) { first = first == 0 ? done : first; };
  EXPECT_EQ(two->describe(pictures_, run).descriptors, whole);
  EXPECT_EQ(first, 3) << "the first group was described again";
}

TEST_F(CrossImagePipeline, OnlyMethodsThatComparePicturesTakeSeveral) {
  MethodOptions options;
  options.cross_image = 8;
  const std::string text = message_of([&] { Recognizer("rootsift-gem", options); });
  EXPECT_TRUE(contains(text, "cross_image is 8, but rootsift-gem looks at each picture by itself"))
      << text;
}

}  // namespace
}  // namespace ria
