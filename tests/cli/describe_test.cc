// SPDX-License-Identifier: MIT
// `ria describe`.
#include <nlohmann/json.hpp>

#include "cli/fixture.h"
#include "ria/eigen.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

TEST_F(CliTest, NpyHoldsTheLibrarysDescriptors) {
  pictures();
  EXPECT_EQ(works({"describe",
                   "pictures",
                   "--out",
                   "x.npy",
                   "--method",
                   "rootsift-ria",
                   "--d",
                   "24",
                   "--seed",
                   "3"}),
            "x.npy: 4 descriptors of 300 dims by rootsift-ria\n");
  MethodOptions options;
  options.ria.d = 24;
  options.ria.seed = 3;
  const Recognizer recognizer("rootsift-ria", options);
  const Matrix rows = read_rows(folder_ / "x.npy");
  ASSERT_EQ(rows.rows(), 4);
  ASSERT_EQ(rows.cols(), 300);
  for (int i = 0; i < 4; ++i) {
    const auto row = as_eigen(rows.row(i));
    EXPECT_TRUE(row.isApprox(as_eigen(recognizer.describe(street()[i])), 1e-5f)) << i;
    EXPECT_NEAR(row.norm(), 1, 1e-5);
  }
  const json record = json::parse(read_text(folder_ / "x.json"));
  EXPECT_EQ(record["method"], "rootsift-ria");
  EXPECT_EQ(record["dim"], 300);
  EXPECT_EQ(record["count"], 4);
  EXPECT_EQ(record["weights_sha256"], "");
  EXPECT_EQ(record["ria_version"], RIA_VERSION);
  EXPECT_EQ(record["options"]["d"], 24);
  EXPECT_EQ(record["options"]["seed"], 3);
  EXPECT_EQ(read_text(folder_ / "x.names.txt"), "p000.png\np001.png\np002.png\np003.png\n");
}

TEST_F(CliTest, H5IsWritten) {
  works(Args{"describe", pictures(), "--out", "x.h5"} + kFast);
  const std::string bytes = read_text(folder_ / "x.h5");
  EXPECT_TRUE(bytes.starts_with("\x89HDF\r\n\x1a\n"));
  for (const char* part : {"global_descriptor", "image_size", "p003.png", "rootsift-gem"}) {
    EXPECT_NE(bytes.find(part), bytes.npos) << part;
  }
  EXPECT_EQ(contents().size(), 4u + 2u);  // pictures, their folder, x.h5
}

TEST_F(CliTest, SeveralPathsAreDescribedInTheirOrder) {
  pictures();
  for (const std::string name : {"x.npy", "x.h5"}) {  // hloc's files know each name once
    works(Args{"describe", "pictures/p002.png", "pictures", "--out", name} + kFast);
  }
  EXPECT_TRUE(
      read_text(folder_ / "x.names.txt").starts_with("pictures/p002.png\npictures/p000.png\n"));
  const Matrix rows = read_rows(folder_ / "x.npy");
  ASSERT_EQ(rows.rows(), 5);
  EXPECT_TRUE(std::ranges::equal(rows.row(0), rows.row(3)));
}

TEST_F(CliTest, SameSeedSameBitsOnAnyNumberOfThreads) {
  pictures();
  const Args endings = {".npy", ".names.txt", ".json"};
  for (const std::string method : {"rootsift-ria", "rootsift-gem"}) {
    for (const std::string path : {"pictures", "pictures/p001.png"}) {
      for (const std::string threads : {"1", "2"}) {
        works({"describe",
               path,
               "--out",
               "x" + threads + ".npy",
               "--method",
               method,
               "--num_threads",
               threads});
      }
      works({"describe", path, "--out", "again.npy", "--method", method});
      for (const std::string& ending : endings) {
        const std::string one = read_text(folder_ / ("x1" + ending));
        EXPECT_FALSE(one.empty());
        for (const char* other : {"x2", "again"}) {
          EXPECT_TRUE(read_text(folder_ / (other + ending)) == one)
              << method << " " << path << " " << other;
        }
      }
    }
  }
}

// The cache only keeps unfinished work: a run must not need it.
TEST_F(CliTest, RunWithoutACacheFolderStillWorks) {
  pictures();
  spill(base_ / "file.txt", "");
  at_.env["XDG_CACHE_HOME"] = (base_ / "file.txt" / "cache").string();
  works(Args{"describe", "pictures", "--out", "x.npy"} + kFast);
  at_.env["XDG_CACHE_HOME"] = at_.env["HOME"] = "";
  works(Args{"describe", "pictures", "--out", "y.npy"} + kFast);
  EXPECT_TRUE(read_text(folder_ / "x.npy") == read_text(folder_ / "y.npy"));
}

TEST_F(CliTest, AnotherSeedGivesOtherBits) {
  const Args describe = Args{"describe", pictures()} + kFastRia;
  works(describe + Args{"--out", "a.npy"});
  works(describe + Args{"--out", "b.npy", "--seed", "43"});
  EXPECT_NE(read_text(folder_ / "a.npy"), read_text(folder_ / "b.npy"));
}

}  // namespace
}  // namespace ria::cli_test
