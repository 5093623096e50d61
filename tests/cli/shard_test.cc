// SPDX-License-Identifier: MIT
// `--shard`: what many processes make, some of them killed, is what one makes.
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

constexpr int kShards = 8;

class ShardTest : public CliTest {
 protected:
  Args build(int shard, const Args& method) const {
    return Args{"index",
                "build",
                "many",
                "--shard",
                fmt::format("{}/{}", shard, kShards),
                "--out",
                fmt::format("{}.ria", shard),
                "--num_threads",
                "1"} +
           method;
  }

  Args shard_files() const {
    Args files;
    for (int i = 1; i <= kShards; ++i) files.push_back(fmt::format("{}.ria", i));
    return files;
  }

  /// Ended as a machine that loses its power ends it, in the middle of its work.
  static int kill(Program& program, int ms) {
    while (!program.catches(SIGTERM) && !program.ended()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    program.send(SIGKILL);
    return program.wait().exit_code;
  }
};

TEST_F(ShardTest, EightProcessesTwoKilledMakeTheMapOfOne) {
  pictures("many", 101);
  const Args slow = {"--method", "rootsift-ria", "--longest_side", "240", "--rerank", "patches"};
  works(Args{"index", "build", "many", "--out", "one.ria", "--num_threads", "1"} + slow);
  std::vector<std::unique_ptr<Program>> running;
  std::vector<Surroundings> machines;
  for (int i = 1; i <= kShards; ++i) {
    machines.push_back(at_);  // each with a cache of its own
    machines.back().env["XDG_CACHE_HOME"] = (base_ / fmt::format("cache{}", i)).string();
    running.push_back(std::make_unique<Program>(kProgram, build(i, slow), machines.back()));
  }
  EXPECT_EQ(kill(*running[2], 0), 128 + SIGKILL);
  EXPECT_EQ(kill(*running[5], 100), 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(folder_ / "3.ria") || fs::exists(folder_ / "6.ria"));
  for (int i = 1; i <= kShards; ++i) {
    if (i == 3 || i == 6) continue;
    EXPECT_EQ(running[i - 1]->wait().exit_code, 0);
  }
  for (const int i : {3, 6}) {
    EXPECT_EQ(Program(kProgram, build(i, slow), machines[i - 1]).wait().exit_code, 0);
  }
  works(build(5, slow));  // once more: nothing changes
  works(Args{"index", "merge"} + shard_files() + Args{"--out", "merged.ria"});
  EXPECT_TRUE(read_text(folder_ / "merged.ria") == read_text(folder_ / "one.ria"));
}

TEST_F(ShardTest, WhatIsFittedIsFittedOnAllPictures) {
  pictures("many", 10);
  const Args fitted = kFastRia + Args{"--projection", "pca"};
  works(Args{"index", "build", "many", "--out", "one.ria"} + fitted);
  for (int i = 1; i <= kShards; ++i) works(build(i, fitted));
  works(Args{"index", "merge"} + shard_files() + Args{"--out", "merged.ria"});
  EXPECT_TRUE(read_text(folder_ / "merged.ria") == read_text(folder_ / "one.ria"));
  refused(2, build(1, kFastRia + Args{"--pca", "8"}), {"--shard", "pca", "--fit_folder"});
  works(build(1, kFastRia + Args{"--pca", "4", "--fit_folder", "many"}));
}

TEST_F(ShardTest, DescribedShardsFollowEachOther) {
  pictures("many", 10);
  works(Args{"describe", "many", "--out", "one.npy"} + kFast);
  std::string names;
  int rows = 0;
  const Matrix all = read_rows(folder_ / "one.npy");
  for (int i = 1; i <= 16; ++i) {  // more than there are pictures
    works(Args{"describe", "many", "--shard", fmt::format("{}/16", i), "--out", "part.npy"} +
          kFast);
    const Matrix part = read_rows(folder_ / "part.npy");
    for (int r = 0; r < part.rows(); ++r, ++rows) {
      EXPECT_TRUE(std::ranges::equal(part.row(r), all.row(rows)));
    }
    names += read_text(folder_ / "part.names.txt");
  }
  EXPECT_EQ(rows, 10);
  EXPECT_EQ(names, read_text(folder_ / "one.names.txt"));
}

TEST_F(ShardTest, PartsOfAnyListAreEvenAndWhole) {
  for (const int total : {0, 1, 7, 16, 1000}) {
    std::vector<fs::path> pictures;
    for (int i = 0; i < total; ++i) pictures.push_back(std::to_string(i));
    for (const int count : {1, 3, 16}) {
      for (const int group : {0, 1, 4}) {
        std::vector<fs::path> joined;
        std::set<std::size_t> sizes;
        for (int i = 1; i <= count; ++i) {
          const auto part = Shard{i, count}.of(pictures, group);
          EXPECT_TRUE(part.empty() || joined.size() % std::max(1, group) == 0);
          joined.insert(joined.end(), part.begin(), part.end());
          sizes.insert(part.size());
        }
        EXPECT_EQ(joined, pictures);
        EXPECT_LE(*sizes.rbegin() - *sizes.begin(), 2u * std::max(1, group));
      }
    }
  }
}

TEST_F(ShardTest, WhatIsNoShardIsRefused) {
  pictures();
  for (const char* text : {"0/4", "5/4", "1", "a/b", "1/0", "1/4x", "-1/4", "1/99999999999"}) {
    refused(2,
            Args{"index", "build", "pictures", "--out", "x.ria", "--shard", text} + kFast,
            {"--shard", text, "3/16"});
  }
}

}  // namespace
}  // namespace ria::cli_test
