// SPDX-License-Identifier: MIT
#include "golden/system_case.h"
#include "head/heads.h"

namespace ria {
namespace {

class SfrsGolden : public SystemCase {
 protected:
  SfrsGolden() : SystemCase("sfrs") {}
};

TEST_F(SfrsGolden, PicturesAreReadWithItsOwnMean) {
  if (weights().empty()) return;
  const Preprocessing own = backbone("vgg16", weights().front())->preprocessing();
  EXPECT_EQ(own.normalization, Normalization::kMinusMean);
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(own.mean[c], 255 * config().at("mean").at(c).get<double>(), 1e-4);
  }
  for (const auto& [key, images] : crops()) {
    for (std::size_t b = 0; has_input(key) && b < images.size(); ++b) {
      const Pixels made = to_pixels(images[b], own.normalization, own.mean);
      expect_close(made.chw, pixels_of(input(key), static_cast<std::int64_t>(b)).chw, 1e-4);
    }
  }
}

TEST_F(SfrsGolden, NetworkAndHead) {
  if (weights().empty()) return;
  const TensorFile file = TensorFile::open(weights().front());
  const auto network = backbone("vgg16", weights().front());
  for (const std::string& key : pictures()) {
    const auto all = features(*network, input(key));
    expect_features(all, key + ".features");
    expect_descriptors(*read_netvlad(file, false), all, key + ".vlad");
    expect_descriptors(*read_netvlad(file), all, key + ".out");
  }
}

}  // namespace
}  // namespace ria
