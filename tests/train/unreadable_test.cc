// SPDX-License-Identifier: MIT
// Pictures that cannot be read: the others are trained on as if they had not been there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ria/train.h"
#include "support/cache_in.h"
#include "support/error_message.h"
#include "support/random_network.h"
#include "support/sample_images.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "support/torch_engine.h"
#include "tensor/safetensors.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kPlaces = 4, kPictures = 3;  // of each place
constexpr int kTruncated = 1, kMissing = 8;

class UnreadableTest : public testing::Test {
 protected:
  UnreadableTest() {
    RandomNetwork network(0, false, true);
    TensorMap tensors;
    for (const auto& [name, tensor] : network.tensors()) {
      tensors[name.substr(RandomNetwork::stored("").size())] = tensor;
    }
    write_safetensors(folder_ / "tiny.safetensors", tensors);
    for (int i = 0; i < kPlaces * kPictures; ++i) {
      Image picture = noise(56, 56);
      std::rotate(picture.rgb.begin(), picture.rgb.begin() + 61 * i, picture.rgb.end());
      set_.pictures.push_back(folder_ / (std::to_string(i) + ".png"));
      save_image(set_.pictures.back(), picture);
      if (i % kPictures == 0) set_.places.emplace_back();
      set_.places.back().pictures.push_back(i);
    }
    set_.name = "noise";
    set_.groups = {"noise"};
    options_.backbone = "dinov2";
    options_.network.weights = folder_ / "tiny.safetensors";
    options_.unfreeze = 1;
    options_.heads = 1;
    options_.d = 8;
    options_.mlp = 12;
    options_.image_size = options_.eval_image_size = 56;
    options_.places_per_batch = 4;
    options_.pictures_per_place = 2;
    options_.augment = "none";
    options_.epochs = 3;
    options_.num_threads = 2;
  }

  TrainResult trained(const std::string& run,
                      const std::optional<Dataset>& validation = std::nullopt) {
    TrainRun where;
    where.folder = folder_ / run;
    return train(set_, validation, options_, where);
  }
  std::string model(const std::string& run) const {
    return read_text(folder_ / run / "last.safetensors");
  }
  void truncate(int picture) const { fs::resize_file(set_.pictures[picture], 2000); }

  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
  TrainingSet set_;
  TrainOptions options_;
};

TEST_F(UnreadableTest, AreCountedAndTheOthersDoNotDependOnThem) {
  RIA_NEEDS_TORCH;
  truncate(kTruncated);
  fs::remove(set_.pictures[kMissing]);
  for (const std::string augment : {"none", "cached:2", "standard"}) {
    options_.augment = augment;
    const TrainResult result = trained("bad " + augment);
    EXPECT_EQ(result.steps, 3);
    ASSERT_EQ(result.failures.size(), 2u) << augment;
    EXPECT_EQ(result.failures[0].picture, kTruncated);
    EXPECT_THAT(result.failures[0].reason, HasSubstr("1.png"));
    EXPECT_EQ(result.failures[1].picture, kMissing);
    EXPECT_EQ(result.failures[1].file, set_.pictures[kMissing].string());
    for (const HardPair& pair : result.hardest) {
      for (const fs::path& file : {pair.first, pair.second}) {
        EXPECT_NE(file, set_.pictures[kTruncated]);
        EXPECT_NE(file, set_.pictures[kMissing]);
      }
    }
  }
  fs::remove(set_.pictures[kTruncated]);
  spill(set_.pictures[kMissing], "no picture");
  for (const std::string augment : {"none", "cached:2", "standard"}) {
    options_.augment = augment;
    EXPECT_EQ(trained("worse " + augment).failures.size(), 2u);
    EXPECT_EQ(model("worse " + augment), model("bad " + augment)) << augment;
  }
}

TEST_F(UnreadableTest, AreReplacedByTheNextOfTheirPlace) {
  RIA_NEEDS_TORCH;
  options_.mlp = 0;  // its start takes every picture once
  const TrainResult whole = trained("whole");
  EXPECT_TRUE(whole.failures.empty());
  truncate(kTruncated);
  fs::remove(set_.pictures[kMissing]);
  trained("bad");
  EXPECT_NE(model("bad"), model("whole"));
  fs::copy_file(set_.pictures[2], set_.pictures[kTruncated], fs::copy_options::overwrite_existing);
  fs::copy_file(set_.pictures[6], set_.pictures[kMissing]);  // after the last comes the first
  EXPECT_TRUE(trained("copies").failures.empty());
  EXPECT_EQ(model("copies"), model("bad"));
}

TEST_F(UnreadableTest, APlaceWithoutAnyIsLeftOut) {
  RIA_NEEDS_TORCH;
  for (const std::string augment : {"none", "standard"}) {
    options_.augment = augment;
    for (int i = 3; i < 6; ++i) fs::remove(set_.pictures[i]);
    const TrainResult result = trained("bad " + augment);
    EXPECT_EQ(result.failures.size(), 3u);
    EXPECT_EQ(result.steps, 3);
    EXPECT_GT(result.log.back().loss, 0);
  }
}

TEST_F(UnreadableTest, NoneLeftIsOneLine) {
  RIA_NEEDS_TORCH;
  for (const fs::path& file : set_.pictures) spill(file, "no picture");
  for (const std::string augment : {"none", "standard"}) {
    options_.augment = augment;
    for (const int mlp : {0, 12}) {
      options_.mlp = mlp;
      const std::string message = message_of([&] { trained(augment + std::to_string(mlp)); });
      EXPECT_THAT(message, HasSubstr("none of 12 training pictures can be read; the first: "));
      EXPECT_THAT(message, HasSubstr("0.png"));
    }
  }
}

TEST_F(UnreadableTest, InValidationAreNeverFoundAndFindNothing) {
  RIA_NEEDS_TORCH;
  options_.epochs = 1;
  // Every query is its own answer, so that R@1 is the share of pairs that can be read.
  Dataset same;
  for (int i = 0; i < 8; ++i) {
    same.database.push_back(folder_ / ("d" + std::to_string(i) + ".png"));
    same.queries.push_back(folder_ / ("q" + std::to_string(i) + ".png"));
    fs::copy_file(set_.pictures[i], same.database.back());
    fs::copy_file(set_.pictures[i], same.queries.back());
    same.positives.push_back({i});
  }
  EXPECT_EQ(trained("whole", same).best_recall_at_1, 100);
  spill(same.queries[2], "no picture");
  fs::remove(same.database[5]);
  const TrainResult result = trained("bad", same);
  EXPECT_EQ(result.best_recall_at_1, 75);
  EXPECT_EQ(result.log[0].recall_at_5, 75);
  ASSERT_EQ(result.failures.size(), 2u);
  EXPECT_EQ(result.failures[0].picture, 12 + 5);
  EXPECT_EQ(result.failures[0].file, same.database[5].string());
  EXPECT_EQ(result.failures[1].picture, 12 + 8 + 2);
  EXPECT_EQ(model("bad"), model("whole"));
}

}  // namespace
}  // namespace ria
