// SPDX-License-Identifier: MIT
// Vocabularies fitted on small rendered pictures with the backbone that needs no weights, and read
// from files.
#include "ria/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "aggregate/features.h"
#include "pipeline/patch_sample.h"
#include "ria/ria.h"
#include "support/cache_in.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Picture i has counts[i] patches; patch j of it is the row (i, j).
class SampleOf {
 public:
  SampleOf(const std::vector<int>& counts, std::int64_t capacity, const std::vector<int>& order)
      : sample_(static_cast<int>(counts.size()), 2, capacity, 1) {
    for (const int i : order) {
      std::vector<float> rows;
      for (const auto j : sample_.choose(i, counts[i])) {
        rows.push_back(static_cast<float>(i));
        rows.push_back(static_cast<float>(j));
      }
      sample_.add(i, counts[i], rows);
    }
    sample_.seal();
  }
  Matrix rows() const {
    Matrix all(static_cast<int>(sample_.rows()), 2);
    sample_.read(0, all);
    return all;
  }
  const PatchSample& operator*() const { return sample_; }

 private:
  PatchSample sample_;
};

TEST(PatchSample, HoldsTheMostThatIsTheSameForAllInAnyOrder) {
  const std::vector<int> counts = {5, 90, 40, 1, 70, 70, 12, 33};
  const int total = std::accumulate(counts.begin(), counts.end(), 0);
  std::vector<int> order(counts.size()), reversed;
  std::iota(order.begin(), order.end(), 0);
  reversed.assign(order.rbegin(), order.rend());
  for (int capacity = static_cast<int>(counts.size()); capacity <= total + 3; ++capacity) {
    const auto with = [&](int quota) {
      int sum = 0;
      for (const int count : counts) sum += std::min(count, quota);
      return sum;
    };
    int quota = 1;
    while (quota < 90 && with(quota + 1) <= capacity) ++quota;
    const SampleOf sample(counts, capacity, order), other(counts, capacity, reversed);
    EXPECT_EQ((*sample).rows(), with(quota));
    EXPECT_EQ((*sample).drawn(), capacity < total);
    if (capacity < total) {
      EXPECT_EQ((*sample).quota(), quota);
    }
    EXPECT_EQ(sample.rows(), other.rows());
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ((*sample).patches_of(i), counts[i]);
      EXPECT_EQ((*sample).rows_of(i).size(), 2u * std::min(counts[i], quota));
    }
  }
}

TEST(PatchSample, DrawsEveryPatchAsOften) {
  std::vector<int> drawn(10, 0);
  const PatchSample sample(4000, 2, 100000, 5);
  for (int i = 0; i < 4000; ++i) ++drawn[sample.choose(i, 10)[0]];
  for (const int count : drawn) EXPECT_NEAR(count, 400, 80);
}

class VocabularyTest : public ::testing::Test {
 protected:
  static constexpr int kPictures = 6;

  void SetUp() override {
    for (int i = 0; i < kPictures; ++i) {
      pictures_.push_back(folder_ / (std::to_string(i) + ".png"));
      // Of different sizes.
      save_image(pictures_.back(),
                 render_street({0, 40.0 * i}, Condition::kDay, 80, 96 + 16 * i, 7));
    }
    pre_ = backbone_->preprocessing();
    pre_.longest_side = 0;
    options_.clusters = 5;
  }

  Vocabulary build(const VocabularyOptions& options) const {
    return build_vocabulary(*backbone_, pre_, true, pictures_, options);
  }

  std::vector<std::int64_t> patch_counts() const {
    std::vector<std::int64_t> counts;
    for (const fs::path& file : pictures_) {
      counts.push_back(backbone_->extract(preprocess(load_image(file), pre_)).patches.rows());
    }
    return counts;
  }

  /// A bound with which so many patches fit.
  std::uint64_t memory_for(std::uint64_t patches) const {
    try {
      VocabularyOptions none = options_;
      none.max_memory = 1;
      build(none);
    } catch (const std::invalid_argument& error) {
      const std::string text = error.what();
      const std::size_t at = text.find("at least ");
      EXPECT_NE(at, text.npos) << text;
      return std::stoull(text.substr(at + 9)) +
             (patches - static_cast<std::uint64_t>(options_.clusters)) *
                 PatchSample::patch_bytes(backbone_->dim());
    }
    ADD_FAILURE() << "one byte was enough";
    return 0;
  }

  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
  std::vector<fs::path> pictures_;
  const std::unique_ptr<Backbone> backbone_ = make_backbone("rootsift");
  Preprocessing pre_;
  VocabularyOptions options_;
};

TEST_F(VocabularyTest, UsesAllPatchesThatFitAndClustersThem) {
  const Vocabulary made = build(options_);
  const auto counts = patch_counts();
  EXPECT_EQ(made.patches, std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  EXPECT_EQ(made.patches_used, made.patches);
  EXPECT_EQ(made.patches_a_picture, 0);
  EXPECT_EQ(made.pictures, kPictures);
  EXPECT_EQ(made.pictures_used, kPictures);
  EXPECT_TRUE(made.failures.empty());
  EXPECT_EQ(made.centres.rows(), 5);
  EXPECT_EQ(made.centres.cols(), backbone_->dim());
  EXPECT_EQ(std::accumulate(made.counts.begin(), made.counts.end(), std::int64_t{0}),
            made.patches_used);
  EXPECT_TRUE(made.converged);
  EXPECT_GT(made.mean_cosine, 0.5);
  // A fixed point of k-means on all patches, whatever their order.
  Matrix all(static_cast<int>(made.patches), backbone_->dim());
  int at = 0;
  for (const fs::path& file : pictures_) {
    const Matrix x = backbone_->extract(preprocess(load_image(file), pre_)).patches;
    as_eigen(all).middleRows(at, x.rows()) = normalized_rows(as_eigen(x));
    at += x.rows();
  }
  const KMeans again = cosine_kmeans(MatrixRows(all), made.centres);
  EXPECT_EQ(again.iterations, 1);
  EXPECT_LE(again.moved, options_.tolerance);
  EXPECT_NEAR(again.mean_cosine, made.mean_cosine, 1e-3);
  EXPECT_TRUE(fs::is_empty(cache_folder() / "unfinished"));
}

TEST_F(VocabularyTest, TheBoundIsKeptAndEachPictureGivesTheSame) {
  options_.max_memory = memory_for(200);
  const Vocabulary made = build(options_);
  const auto counts = patch_counts();
  std::int64_t with = 0, with_more = 0;
  for (const std::int64_t count : counts) {
    with += std::min(count, made.patches_a_picture);
    with_more += std::min(count, made.patches_a_picture + 1);
  }
  EXPECT_EQ(made.patches_used, with);
  EXPECT_LE(made.patches_used, 200);
  EXPECT_GT(with_more, 200);
  EXPECT_GT(made.patches, 200);
  EXPECT_EQ(made.pictures_used, kPictures);
}

TEST_F(VocabularyTest, GivesTheSameBitsForAnyThreads) {
  for (const std::uint64_t patches : {200, 100000}) {
    options_.max_memory = memory_for(patches);
    options_.run.num_threads = 1;
    const Vocabulary one = build(options_);
    options_.run.num_threads = 3;
    EXPECT_EQ(build(options_).centres, one.centres);
    options_.seed = 43;
    EXPECT_NE(build(options_).centres, one.centres);
    options_.seed = 42;
  }
}

TEST_F(VocabularyTest, AnInterruptedRunGoesOnAndGivesTheSameBits) {
  for (const std::uint64_t patches : {40, 200, 100000}) {
    options_ = {};
    options_.clusters = 5;
    options_.max_memory = memory_for(patches);
    const Vocabulary expected = build(options_);
    for (const int stop_after : {1, 4}) {
      std::stop_source stop;
      options_.run.num_threads = 1;
      options_.run.stop = stop.get_token();
      options_.run.progress = [&](int done, int) {
        if (done == stop_after) stop.request_stop();
      };
      EXPECT_THROW(build(options_), Interrupted);
      int first = 0;
      options_.run.stop = {};
      options_.run.progress = [&](int done, int) {
        if (first == 0) first = done;
      };
      const Vocabulary made = build(options_);
      EXPECT_EQ(first, stop_after + 1);
      EXPECT_EQ(made.centres, expected.centres);
      EXPECT_EQ(made.patches, expected.patches);
      EXPECT_EQ(made.patches_used, expected.patches_used);
      EXPECT_TRUE(fs::is_empty(cache_folder() / "unfinished"));
    }
  }
}

TEST_F(VocabularyTest, AStopWhileClusteringKeepsThePatches) {
  const Vocabulary expected = build(options_);
  std::stop_source stop;
  options_.run.stop = stop.get_token();
  options_.tolerance = 0;
  options_.on_iteration = [&](int, double) { stop.request_stop(); };
  EXPECT_THROW(build(options_), Interrupted);
  options_.run.stop = {};
  options_.tolerance = 1e-4;
  options_.on_iteration = nullptr;
  options_.run.progress = [](int, int) { FAIL() << "a picture was described again"; };
  EXPECT_EQ(build(options_).centres, expected.centres);
}

TEST_F(VocabularyTest, ABadPictureIsReportedAndTheOthersUsed) {
  spill(pictures_[2], "no picture");
  const Vocabulary made = build(options_);
  ASSERT_EQ(made.failures.size(), 1u);
  EXPECT_EQ(made.failures[0].picture, 2);
  EXPECT_EQ(made.pictures_used, kPictures - 1);
  for (const fs::path& file : pictures_) spill(file, "no picture");
  EXPECT_THROW(build(options_), std::runtime_error);
}

TEST_F(VocabularyTest, WithMorePicturesThanPatchesFitSomeAreNotRead) {
  options_.clusters = 3;
  options_.max_memory = memory_for(4);
  const Vocabulary made = build(options_);
  EXPECT_EQ(made.pictures, kPictures);
  EXPECT_EQ(made.pictures_used, 4);
  EXPECT_EQ(made.patches_used, 4);
  EXPECT_EQ(made.patches_a_picture, 1);
}

TEST_F(VocabularyTest, RefusesWhatCannotBe) {
  options_.clusters = 0;
  EXPECT_THROW(build(options_), std::invalid_argument);
  options_.clusters = 100000;
  EXPECT_THROW(build(options_), std::invalid_argument);
  options_ = {};
  options_.max_memory = 1000;
  EXPECT_THROW(build(options_), std::invalid_argument);
  EXPECT_THROW(build_vocabulary(*backbone_, pre_, true, {}), std::invalid_argument);
}

TEST_F(VocabularyTest, ComesBackFromItsFileAndFromTheCache) {
  Vocabulary made = build(options_);
  made.origin["method"] = "rootsift-vlad";
  const fs::path file = folder_ / "v.safetensors";
  save_vocabulary(file, made);
  EXPECT_EQ(read_vocabulary(file.string(), 128), made.centres);
  const auto metadata = weights_info(file).metadata;
  EXPECT_EQ(metadata.at("method"), "rootsift-vlad");
  EXPECT_EQ(metadata.at("seed"), "42");
  EXPECT_EQ(metadata.at("patches_used"), std::to_string(made.patches_used));
  add_weights(file, "my-places");
  EXPECT_EQ(read_vocabulary("my-places", 128), made.centres);
  write_npy(folder_ / "v.npy", made.centres.data(), 5, 128);
  EXPECT_EQ(read_vocabulary((folder_ / "v.npy").string()), made.centres);
}

TEST_F(VocabularyTest, AFileThatIsNoneIsRefusedByName) {
  const auto refused = [&](const fs::path& file, const std::string& words) {
    try {
      read_vocabulary(file.string(), 4);
      ADD_FAILURE() << "no error, expected: " << words;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file.string()));
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  };
  const auto written = [&](const char* name, const TensorMap& tensors) {
    write_safetensors(folder_ / name, tensors);
    return folder_ / name;
  };
  const Tensor matrix = make_tensor({2, 3}, std::vector<float>(6, 1));
  refused(folder_ / "nowhere.pt", "no such file");
  refused("no-such-name", "neither a file nor in the cache");
  refused(spill(folder_ / "text.pt", "no tensor"), "");
  refused(written("width.safetensors", {{"centers", matrix}}), "3 values, the features have 4");
  refused(written("many.safetensors", {{"a", matrix}, {"b", matrix}}), "holds 2 tensors");
  refused(written("axes.safetensors", {{"a", make_tensor({2, 2, 4}, std::vector<float>(16, 1))}}),
          "3 axes");
  refused(written("empty.safetensors", {{"centers", make_tensor({0, 4}, {})}}), "0x4");
  std::vector<float> values(8, 1);
  values[5] = std::numeric_limits<float>::infinity();
  refused(written("inf.safetensors", {{"centers", make_tensor({2, 4}, values)}}), "infinity");
}

}  // namespace
}  // namespace ria
