// SPDX-License-Identifier: MIT
// MegaLoc from both of its published files, from its own resizing on.
#include "golden/system_case.h"
#include "head/heads.h"
#include "head/salad.h"

namespace ria {
namespace {

class MegaLocGolden : public SystemCase {
 protected:
  MegaLocGolden() : SystemCase("megaloc") {}

  /// What the network does with pixels that are no multiple of its patch.
  Pixels resized(const Pixels& pixels) const {
    Preprocessing rounding;
    rounding.multiple = config().at("patch_size");
    rounding.round_size = true;
    const auto [height, width] = resized_size(pixels.height, pixels.width, rounding);
    if (height == pixels.height && width == pixels.width) return pixels;
    return resize_pixels(pixels, height, width, Resize::kTensorBilinearAa);
  }
};

TEST_F(MegaLocGolden, ResizesToTheNearestMultipleHalfToEven) {
  for (const std::string& key : pictures()) {
    const Pixels given = pixels_of(input(key)), made = resized(given);
    if (!promised(key + ".resized")) {
      EXPECT_EQ(given.chw, made.chw) << key;
      continue;
    }
    const Pixels expected = pixels_of(output(key + ".resized"));
    EXPECT_EQ(made.height, expected.height);
    EXPECT_EQ(made.width, expected.width);
    expect_close(made.chw, expected.chw, atol(key + ".resized"));
  }
}

TEST_F(MegaLocGolden, BlocksAndFeatures) {
  for (const auto& path : weights()) {
    SCOPED_TRACE(path.filename().string());
    const TensorFile file = TensorFile::open(path);
    const auto network = dinov2(path, true);
    for (const std::string& key : pictures()) {
      const Pixels pixels = resized(pixels_of(input(key)));
      expect_tokens(file, 0, pixels, key + ".tokens_in");
      for (int block = 0; block < config().at("depth"); ++block) {
        expect_tokens(file, block + 1, pixels, key + ".block" + std::to_string(block));
      }
      const PatchFeatures features = network->extract(pixels);
      if (input(key).shape[0] == 1) expect_features({features}, key + ".patch_features");
      if (!has_output(key + ".cls")) continue;
      expect_close(features.class_token, row_of(output(key + ".cls"), 0), atol(key + ".cls"));
    }
  }
}

TEST_F(MegaLocGolden, OptimalTransport) {
  for (const std::string& key : pictures()) {
    if (!promised(key + ".scores") || !promised(key + ".log_P")) continue;
    const EigenMatrix scores = as_eigen(item_rows(output(key + ".scores"), 0)).transpose();
    const EigenMatrix expected = as_eigen(item_rows(output(key + ".log_P"), 0)).transpose();
    const EigenMatrixD plan = sinkhorn_log_plan(
        scores, config().at("dust_bin"), config().at("sinkhorn_iterations").get<int>());
    expect_close(plan.cast<float>(), expected, atol(key + ".log_P"));
  }
}

TEST_F(MegaLocGolden, Descriptors) {
  for (const auto& path : weights()) {
    SCOPED_TRACE(path.filename().string());
    const TensorFile file = TensorFile::open(path);
    const auto network = dinov2(path, true);
    const auto head = read_megaloc(file);
    // Without its last layer it is a SALAD.
    TensorMap renamed;
    for (const auto& [name, tensor] : file.tensors()) {
      const std::string part = "aggregator.agg.";
      if (name.starts_with(part)) renamed["aggregator." + name.substr(part.size())] = tensor;
    }
    const auto salad = read_salad({"salad.pth", WeightFormat::torch, renamed});
    for (const std::string& key : pictures()) {
      std::vector<PatchFeatures> all;
      for (std::int64_t b = 0; b < input(key).shape[0]; ++b) {
        all.push_back(network->extract(resized(pixels_of(input(key), b))));
      }
      expect_descriptors(*head, all, key + ".out");
      expect_descriptors(*salad, all, key + ".salad");
    }
  }
}

}  // namespace
}  // namespace ria
