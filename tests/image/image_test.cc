// SPDX-License-Identifier: MIT
// Pictures as numbers: resized, cropped, normalised.
#include "ria/image.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>

#include "support/error_message.h"
#include "support/sample_images.h"

namespace ria {
namespace {

constexpr Resize kPilKinds[] = {Resize::kPilBilinear, Resize::kPilBicubic, Resize::kPilLanczos};
constexpr Resize kTensorKinds[] = {Resize::kTensorBilinear,
                                   Resize::kTensorBilinearAa,
                                   Resize::kTensorBicubic,
                                   Resize::kTensorBicubicAa,
                                   Resize::kTensorNearest};

TEST(ResizeLaws, SameSizeIsIdentity) {
  const Image image = noise(17, 23);
  const Pixels pixels = to_pixels(image, Normalization::kImagenet);
  for (const Resize kind : kPilKinds) EXPECT_EQ(resize_image(image, 17, 23, kind).rgb, image.rgb);
  for (const Resize kind : kTensorKinds) {
    EXPECT_EQ(resize_image(image, 17, 23, kind).rgb, image.rgb);
    EXPECT_EQ(resize_pixels(pixels, 17, 23, kind).chw, pixels.chw);
  }
}

TEST(ResizeLaws, ConstantStaysConstant) {
  const Image image = constant(19, 33, {7, 130, 255});
  const std::array<int, 2> sizes[] = {{5, 8}, {40, 70}, {19, 8}, {1, 1}, {19, 100}};
  for (const auto& [height, width] : sizes) {
    const Image expected = constant(height, width, {7, 130, 255});
    for (const Resize kind : kPilKinds) {
      EXPECT_EQ(resize_image(image, height, width, kind).rgb, expected.rgb);
    }
    for (const Resize kind : kTensorKinds) {
      EXPECT_EQ(resize_image(image, height, width, kind).rgb, expected.rgb);
    }
  }
}

TEST(ResizeLaws, TransposingCommutesWithFloats) {
  const Pixels pixels = to_pixels(noise(14, 9), Normalization::kRaw);
  const auto transposed = [](const Pixels& in) {
    Pixels out{in.width, in.height, {}};
    for (int c = 0; c < 3; ++c) {
      for (int x = 0; x < in.width; ++x) {
        for (int y = 0; y < in.height; ++y) out.chw.push_back(in.at(c, y, x));
      }
    }
    return out;
  };
  for (const Resize kind : kTensorKinds) {
    const Pixels a = transposed(resize_pixels(pixels, 6, 20, kind));
    const Pixels b = resize_pixels(transposed(pixels), 20, 6, kind);
    ASSERT_EQ(a.chw.size(), b.chw.size());
    for (std::size_t i = 0; i < a.chw.size(); ++i) EXPECT_NEAR(a.chw[i], b.chw[i], 1e-3f);
  }
}

TEST(ResizeLaws, RefusesNonsense) {
  const Image image = noise(4, 4);
  EXPECT_THROW(resize_image(image, 0, 4, Resize::kPilBilinear), std::invalid_argument);
  EXPECT_THROW(resize_image(Image{4, 4, {}}, 2, 2, Resize::kPilBilinear), std::invalid_argument);
  const Pixels pixels = to_pixels(image, Normalization::kRaw);
  EXPECT_THROW(resize_pixels(pixels, 2, 2, Resize::kPilBicubic), std::invalid_argument);
  EXPECT_THROW(center_crop(pixels, 0, 2), std::invalid_argument);
}

TEST(Normalize, MeansWhatItsNameSays) {
  const Image image{1, 1, {10, 128, 250}};
  const float red = (10.0f / 255.0f - 0.485f) / 0.229f;
  EXPECT_EQ(to_pixels(image, Normalization::kImagenet).chw[0], red);
  EXPECT_EQ(to_pixels(image, Normalization::kRaw).chw, (std::vector<float>{10, 128, 250}));
  EXPECT_EQ(to_pixels(image, Normalization::kCaffe).chw,
            (std::vector<float>{250.0f - 103.939f, 128.0f - 116.779f, 10.0f - 123.68f}));
}

TEST(CenterCrop, RoundsHalfToEvenAndPads) {
  const Pixels pixels = to_pixels(noise(9, 7), Normalization::kRaw);
  const Pixels cropped = center_crop(pixels, 6, 4);  // offsets 1.5 and 1.5: 2 and 2
  EXPECT_EQ(cropped.at(2, 0, 0), pixels.at(2, 2, 2));
  EXPECT_EQ(cropped.at(0, 5, 3), pixels.at(0, 7, 5));
  const Pixels mixed = center_crop(pixels, 4, 10);  // offset 2.5: 2; 1 zero left, 2 right
  EXPECT_EQ(mixed.at(1, 0, 0), 0.0f);
  EXPECT_EQ(mixed.at(1, 0, 1), pixels.at(1, 2, 0));
  EXPECT_EQ(mixed.at(1, 3, 7), pixels.at(1, 5, 6));
  EXPECT_EQ(mixed.at(1, 3, 8), 0.0f);
}

TEST(ResizedSize, FollowsTheOptions) {
  using Size = std::array<int, 2>;
  Preprocessing options;
  EXPECT_EQ(resized_size(50, 70, options), (Size{50, 70}));
  options.longest_side = 100;
  EXPECT_EQ(resized_size(50, 70, options), (Size{71, 100}));
  EXPECT_EQ(resized_size(1, 1000, options), (Size{1, 100}));
  options.min_side = 14;
  EXPECT_EQ(resized_size(1, 1000, options), (Size{14, 100}));
  options = {};
  options.shortest_side = 112;
  EXPECT_EQ(resized_size(150, 201, options), (Size{112, 150}));  // 150.08
  EXPECT_EQ(resized_size(200, 150, options), (Size{149, 112}));  // 149.33
  options = {};
  options.height = 30;
  options.width = 40;
  EXPECT_EQ(resized_size(150, 201, options), (Size{30, 40}));
}

TEST(Preprocess, SizesAreRoundedToTheNearestMultipleHalfToEven) {
  Preprocessing options;
  options.multiple = 14;
  options.round_size = true;
  using Size = std::array<int, 2>;
  EXPECT_EQ(resized_size(63, 77, options), (Size{56, 84}));  // 4.5 and 5.5
  EXPECT_EQ(resized_size(64, 90, options), (Size{70, 84}));
  EXPECT_EQ(resized_size(98, 70, options), (Size{98, 70}));
  EXPECT_EQ(resized_size(3, 480, options), (Size{14, 476}));  // never 0
  const Pixels pixels = preprocess(noise(63, 77), options);
  EXPECT_EQ(pixels.height, 56);
  EXPECT_EQ(pixels.width, 84);
}

TEST(Preprocess, CropsToTheMultiple) {
  Preprocessing options;
  options.longest_side = 100;
  options.multiple = 14;
  const Pixels pixels = preprocess(noise(50, 70), options);
  EXPECT_EQ(pixels.height, 70);
  EXPECT_EQ(pixels.width, 98);
  EXPECT_THROW(preprocess(noise(5, 100), options), std::invalid_argument);
}

TEST(Preprocess, ValidateNamesTheField) {
  const auto message = [](auto change) {
    Preprocessing options;
    change(options);
    return message_of([&] { options.validate(); });
  };
  const std::string half = message([](Preprocessing& o) { o.height = 224; });
  EXPECT_TRUE(contains(half, "height is 224") && contains(half, "width is 0")) << half;
  const std::string both = message([](Preprocessing& o) { o.longest_side = o.shortest_side = 9; });
  EXPECT_TRUE(contains(both, "longest_side is 9") && contains(both, "shortest_side")) << both;
  const std::string three =
      message([](Preprocessing& o) { o.height = o.width = o.shortest_side = 8; });
  EXPECT_TRUE(contains(three, "height is 8") && contains(three, "shortest_side is 8")) << three;
  EXPECT_TRUE(contains(message([](Preprocessing& o) { o.multiple = 0; }), "multiple is 0"));
  EXPECT_TRUE(contains(message([](Preprocessing& o) { o.min_side = -1; }), "min_side is -1"));
  EXPECT_EQ(message([](Preprocessing&) {}), "nothing was thrown");
}

}  // namespace
}  // namespace ria
