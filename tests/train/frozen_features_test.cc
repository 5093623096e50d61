// SPDX-License-Identifier: MIT
#include "train/frozen_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>

#include "support/sample_images.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "tensor/tensor.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Counts how often it runs; the values are sums of 8 x 8 pixels, one row a block.
class Blocks final : public FrozenPart {
 public:
  EntryValues run(const Pixels& pixels) const override {
    ++runs;
    EntryValues out{pixels.height / 8, pixels.width / 8, 3, {}};
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) {
        for (int c = 0; c < 3; ++c) {
          float sum = 0;
          for (int i = 0; i < 64; ++i) sum += pixels.at(c, y * 8 + i / 8, x * 8 + i % 8);
          out.values.push_back(sum);
        }
      }
    }
    return out;
  }
  mutable std::atomic<int> runs = 0;
};

class FrozenFeaturesTest : public testing::Test {
 protected:
  FrozenFeaturesTest() {
    for (int i = 0; i < 5; ++i) {
      files_.push_back(folder_ / (std::to_string(i) + ".png"));
      save_image(files_.back(), noise(40 + i, 50));
    }
    options_.folder = folder_ / "cache";
    options_.augment.image_size = 32;
    source_ = {part_, {}, "blocks", false};
  }
  FrozenFeatures features() const { return {files_, source_, options_}; }

  TemporaryFolder folder_;
  std::vector<fs::path> files_;
  std::shared_ptr<Blocks> part_ = std::make_shared<Blocks>();
  FrozenSource source_;
  FrozenOptions options_;
};

TEST_F(FrozenFeaturesTest, ServesWhatTheNetworkMakesRoundedToHalves) {
  const FrozenFeatures all = features();
  TrainBatch batch;
  const std::vector<PictureVariant> wanted{{3, 0}, {1, 0}, {3, 0}};
  EXPECT_TRUE(all.fill(wanted, batch).empty());
  EXPECT_EQ(batch.count, 3);
  EXPECT_EQ(batch.height, 4);
  EXPECT_EQ(batch.width, 4);
  EXPECT_EQ(batch.channels, 3);
  ASSERT_EQ(batch.values.size(), 3u * 48);
  Preprocessing own;
  own.height = own.width = 32;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const fs::path& file = files_[static_cast<std::size_t>(wanted[i].picture)];
    const EntryValues exact = part_->run(preprocess(load_image(file), own));
    std::vector<float> rounded(exact.values.size());
    from_halves(to_halves(exact.values), rounded);
    EXPECT_TRUE(
        std::equal(rounded.begin(),
                   rounded.end(),
                   batch.values.begin() + std::ssize(rounded) * static_cast<std::ptrdiff_t>(i)));
  }
}

TEST_F(FrozenFeaturesTest, DrawsOtherPatchesOfEveryPictureBySeed) {
  const FrozenFeatures all = features();
  constexpr int kPatches = 6, kChannels = 3;
  const std::vector<PictureVariant> wanted{{3, 0}, {1, 0}};
  TrainBatch whole, drawn, same, other, most;
  EXPECT_TRUE(all.fill(wanted, whole).empty());
  EXPECT_TRUE(all.fill(wanted, drawn, {kPatches, 1}).empty());
  EXPECT_TRUE(all.fill(wanted, same, {kPatches, 1}).empty());
  EXPECT_TRUE(all.fill(wanted, other, {kPatches, 2}).empty());
  EXPECT_TRUE(all.fill(wanted, most, {16, 1}).empty());
  EXPECT_EQ(drawn.height * drawn.width, kPatches);
  EXPECT_EQ(drawn.values, same.values);
  EXPECT_NE(drawn.values, other.values);
  EXPECT_EQ(most.values, whole.values);
  EXPECT_EQ(most.height, whole.height);
  const auto row = [](const TrainBatch& batch, int patches, int picture, int patch) {
    const auto at = batch.values.begin() + (picture * patches + patch) * kChannels;
    return std::vector<float>(at, at + kChannels);
  };
  // Each is a patch of its own picture, and none comes twice.
  std::vector<std::set<int>> taken(2);
  for (int picture = 0; picture < 2; ++picture) {
    for (int i = 0; i < kPatches; ++i) {
      for (int patch = 0; patch < 16; ++patch) {
        if (row(drawn, kPatches, picture, i) == row(whole, 16, picture, patch)) {
          taken[picture].insert(patch);
        }
      }
    }
    EXPECT_EQ(taken[picture].size(), kPatches);
  }
  EXPECT_NE(taken[0], taken[1]);
}

TEST_F(FrozenFeaturesTest, RunsTheNetworkOnceForEachVariantAndNeverAgain) {
  FrozenFeatures first = features();
  std::vector<int> told;
  EXPECT_TRUE(first
                  .prepare(2,
                           [&](int done, int total) {
                             told.push_back(done);
                             EXPECT_EQ(total, 5);
                           })
                  .empty());
  EXPECT_EQ(told.back(), 5);
  EXPECT_EQ(part_->runs, 5 * 3);
  const std::vector<PictureVariant> wanted{{0, 0}, {0, 1}, {0, 2}, {4, 2}};
  TrainBatch batch, again;
  EXPECT_TRUE(first.fill(wanted, batch).empty());
  FrozenFeatures second = features();
  EXPECT_TRUE(second.prepare(2).empty());
  EXPECT_TRUE(second.fill(wanted, again).empty());
  EXPECT_EQ(part_->runs, 5 * 3);
  EXPECT_EQ(batch.values, again.values);
  // Variants differ from each other.
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_FALSE(std::equal(batch.values.begin() + 48 * static_cast<int>(a),
                              batch.values.begin() + 48 * static_cast<int>(a + 1),
                              batch.values.begin() + 48 * static_cast<int>(b)));
    }
  }
  // Not prepared, and in another order of pictures: the same values.
  fs::remove_all(options_.folder);
  std::reverse(files_.begin(), files_.end());
  const std::vector<PictureVariant> turned{{4, 0}, {4, 1}, {4, 2}, {0, 2}};
  EXPECT_TRUE(features().fill(turned, again).empty());
  EXPECT_EQ(batch.values, again.values);
}

TEST_F(FrozenFeaturesTest, KeepsApartWhatDependsOnOtherOptions) {
  features().prepare(1);
  options_.seed = 7;
  features().prepare(1);
  EXPECT_EQ(part_->runs, 5 * 2) << "runs of all seeds share what is kept";
  options_.augment.rand_magnitude = 20;
  features().prepare(1);
  EXPECT_EQ(part_->runs, 5 * 3);
  options_.augment.image_size = 40;
  features().prepare(1);
  EXPECT_EQ(part_->runs, 5 * 5);
  source_.key = "other";
  features().prepare(0);
  EXPECT_EQ(part_->runs, 5 * 6);
}

TEST_F(FrozenFeaturesTest, ANetworkIsKnownByAllThatDecidesItsValues) {
  TrainNetwork network;
  network.frozen = part_;
  network.shape.entry = 3;
  network.weights_sha256 = "a";
  TrainOptions options;
  std::set<std::string> keys{frozen_source(network, options).key};
  network.shape.entry = 4;
  keys.insert(frozen_source(network, options).key);
  network.weights_sha256 = "b";
  keys.insert(frozen_source(network, options).key);
  options.network.position_rule = PositionRule::kHf;
  keys.insert(frozen_source(network, options).key);
  options.network.stride = 7;
  keys.insert(frozen_source(network, options).key);
  EXPECT_EQ(keys.size(), 5u);
  EXPECT_FALSE(frozen_source(network, options).from_pixels);
  network.shape.entry = 0;
  EXPECT_TRUE(frozen_source(network, options).from_pixels);
}

TEST_F(FrozenFeaturesTest, FromPixelsNothingIsKept) {
  source_.from_pixels = true;
  spill(files_[2], "no picture");
  FrozenFeatures all = features();
  EXPECT_EQ(all.prepare(3).size(), 1u);
  EXPECT_EQ(part_->runs, 0);
  TrainBatch batch;
  EXPECT_TRUE(all.fill(std::vector<PictureVariant>{{0, 0}, {0, 1}}, batch).empty());
  EXPECT_EQ(batch.values.size(), 96u);
  EXPECT_FALSE(fs::exists(options_.folder));
}

TEST_F(FrozenFeaturesTest, OneBadPictureDoesNotStopTheOthers) {
  spill(files_[2], "no picture");
  fs::remove(files_[4]);
  FrozenFeatures all = features();
  const std::vector<Failure> failures = all.prepare(0);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].picture, 2);
  EXPECT_EQ(failures[1].picture, 4);
  EXPECT_THAT(failures[0].reason, HasSubstr("2.png"));
  EXPECT_EQ(part_->runs, 3);
  TrainBatch batch;
  const auto refused = all.fill(std::vector<PictureVariant>{{0, 0}, {4, 0}, {2, 0}}, batch);
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0].picture, 2);
  EXPECT_EQ(refused[1].picture, 4);
  EXPECT_EQ(batch.count, 0);
  EXPECT_EQ(all.fill_fresh(std::vector<int>{2, 0}, 0, batch).size(), 1u);
}

TEST_F(FrozenFeaturesTest, DamagedFilesAreMadeAgain) {
  FrozenFeatures all = features();
  all.prepare(0);
  TrainBatch before, after;
  const std::vector<PictureVariant> wanted{{0, 0}, {1, 0}, {2, 0}};
  EXPECT_TRUE(all.fill(wanted, before).empty());
  for (const auto& file : fs::recursive_directory_iterator(options_.folder)) {
    if (file.is_regular_file()) fs::resize_file(file.path(), file.file_size() / 2);
  }
  EXPECT_TRUE(all.fill(wanted, after).empty());
  EXPECT_EQ(before.values, after.values);
  EXPECT_EQ(part_->runs, 5 + 3);
}

TEST_F(FrozenFeaturesTest, StopsWhenAskedAndGoesOnLater) {
  options_.num_threads = 1;
  std::stop_source stop;
  FrozenFeatures all = features();
  EXPECT_THROW(all.prepare(
                   0,
                   [&](int done, int) {
                     if (done == 2) stop.request_stop();
                   },
                   stop.get_token()),
               Interrupted);
  EXPECT_EQ(part_->runs, 2);
  features().prepare(0);
  EXPECT_EQ(part_->runs, 5);
}

TEST_F(FrozenFeaturesTest, FreshPicturesFollowFromTheEpoch) {
  const FrozenFeatures all = features();
  const std::vector<int> pictures{0, 1, 0};
  TrainBatch first, same, other;
  EXPECT_TRUE(all.fill_fresh(pictures, 1, first).empty());
  EXPECT_TRUE(all.fill_fresh(pictures, 1, same).empty());
  EXPECT_TRUE(all.fill_fresh(pictures, 2, other).empty());
  EXPECT_EQ(first.values, same.values);
  EXPECT_NE(first.values, other.values);
  EXPECT_FALSE(
      std::equal(first.values.begin(), first.values.begin() + 48, first.values.begin() + 96))
      << "a picture that comes twice is augmented in two ways";
  EXPECT_FALSE(fs::exists(options_.folder));
}

}  // namespace
}  // namespace ria
