// SPDX-License-Identifier: MIT
// int8 on real pictures with real weights: the descriptors of fp32, and the same bits on any number
// of threads.
#include <gtest/gtest.h>

#include "golden/golden.h"
#include "ria/recognizer.h"
#include "ria/verify.h"
#include "ria/weights.h"

namespace ria {
namespace {

const std::vector<std::string> kSets{"gardens_point/day_left/0000.jpg",
                                     "gardens_point/night_right/0100.jpg",
                                     "nordland/db/0000.jpg",
                                     "corridor/db/0000.jpg"};

std::vector<std::filesystem::path> pictures() {
  std::vector<std::filesystem::path> found;
  for (const std::string& name : kSets) {
    const auto file = data_dir() / name;
    if (std::filesystem::exists(file)) found.push_back(file);
  }
  return found;
}

Matrix descriptors(const std::string& method, Precision precision, int num_threads) {
  MethodOptions options;
  options.backbone.precision = precision;
  RunOptions run;
  run.num_threads = num_threads;
  run.resume = false;
  return Recognizer(method, options).describe(pictures(), run).descriptors;
}

TEST(Int8Real, DescriptorsAreThoseOfFp32) {
  if (pictures().size() < 2) GTEST_SKIP() << "no pictures in " << data_dir().string();
  if (!std::filesystem::exists(cache_folder() / "weights" / "resnet50.safetensors")) {
    GTEST_SKIP() << "no resnet50 weights in " << cache_folder().string();
  }
  for (const std::string method : {"resnet50-ria", "resnet50-gem"}) {
    const Matrix exact = descriptors(method, Precision::kFp32, 2);
    const Matrix rounded = descriptors(method, Precision::kInt8, 2);
    for (int i = 0; i < exact.rows(); ++i) {
      const double alike = cosine(exact.row(i), rounded.row(i));
      RecordProperty(method + std::to_string(i), std::to_string(alike));
      EXPECT_GE(alike, 0.995) << method << " " << pictures()[i];
    }
    EXPECT_NE(exact, rounded);
    EXPECT_EQ(rounded, descriptors(method, Precision::kInt8, 1));
  }
}

}  // namespace
}  // namespace ria
