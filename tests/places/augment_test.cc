// SPDX-License-Identifier: MIT
#include "places/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "places/augment_ops.h"
#include "support/error_message.h"
#include "support/sample_images.h"
#include "util/random.h"

namespace ria {
namespace {

using testing::HasSubstr;

/// Red is the number of the pixel.
Image numbered(int height, int width) {
  Image image{height, width, {}};
  for (int i = 0; i < height * width; ++i) {
    image.rgb.insert(image.rgb.end(), {static_cast<std::uint8_t>(i), 7, 200});
  }
  return image;
}

int red(const Image& image, int y, int x) {
  return image.rgb[static_cast<std::size_t>((y * image.width + x) * 3)];
}

TEST(AugmentOps, FactorsOfOneAndTurnsOfNothingChangeNothing) {
  const Image before = noise(9, 11);
  for (const auto& change : std::vector<std::function<void(Image&)>>{
           [](Image& i) { adjust_brightness(i, 1); },
           [](Image& i) { adjust_contrast(i, 1); },
           [](Image& i) { adjust_saturation(i, 1); },
           [](Image& i) { adjust_sharpness(i, 1); },
           [](Image& i) { adjust_hue(i, 0); },
           [](Image& i) { adjust_hue(i, 1); },
           [](Image& i) { adjust_gamma(i, 1, 1); },
           [](Image& i) { posterize(i, 8); },
           [](Image& i) { solarize(i, 256); },
           [](Image& i) { i = sheared_x(i, 0); },
           [](Image& i) { i = sheared_y(i, 0); },
           [](Image& i) { i = translated(i, 0, 0); },
           [](Image& i) { i = rotated(i, 0); },
           [](Image& i) { flip_horizontally(i), flip_horizontally(i); }}) {
    Image after = before;
    change(after);
    EXPECT_EQ(after.rgb, before.rgb);
  }
}

TEST(AugmentOps, ColoursAreBlendedAsDefined) {
  Image image = constant(4, 4, {100, 200, 50});
  adjust_brightness(image, 1.5);
  EXPECT_EQ(image.rgb[0], 150);
  EXPECT_EQ(image.rgb[1], 255);
  image = constant(4, 4, {100, 200, 50});
  adjust_saturation(image, 0);
  EXPECT_EQ(image.rgb[0], 152);  // 0.2989 * 100 + 0.587 * 200 + 0.114 * 50 = 152.99, cut off
  EXPECT_EQ(image.rgb[2], 152);
  image = constant(2, 1, {0, 0, 0});
  std::fill_n(image.rgb.begin(), 3, 255);
  adjust_contrast(image, 0);
  EXPECT_EQ(image.rgb[0], image.rgb[5]);
  EXPECT_NEAR(image.rgb[0], 127, 1);
  image = constant(1, 1, {255, 0, 0});
  adjust_hue(image, 1.0 / 3);
  EXPECT_EQ(image.rgb, (std::vector<std::uint8_t>{0, 255, 0}));
  image = constant(1, 1, {200, 100, 0});
  adjust_hue(image, 0.5);
  EXPECT_EQ(image.rgb, (std::vector<std::uint8_t>{0, 100, 200}));
}

TEST(AugmentOps, SharpnessOfNothingSmoothsAllButTheBorder) {
  Image image = constant(5, 5, {13, 26, 0});
  image.rgb[(2 * 5 + 2) * 3] = 13 + 130;
  adjust_sharpness(image, 0);
  EXPECT_EQ(red(image, 2, 2), 13 + 50);
  EXPECT_EQ(red(image, 1, 3), 13 + 10);
  EXPECT_EQ(red(image, 0, 0), 13);
  EXPECT_EQ(image.rgb[1], 26);
}

TEST(AugmentOps, PosterizeAndSolarizeAreBitsAndThreshold) {
  Image image = constant(1, 1, {255, 100, 31});
  posterize(image, 3);
  EXPECT_EQ(image.rgb, (std::vector<std::uint8_t>{224, 96, 0}));
  image = constant(1, 1, {255, 100, 99});
  solarize(image, 100);
  EXPECT_EQ(image.rgb, (std::vector<std::uint8_t>{0, 155, 99}));
}

TEST(AugmentOps, AutocontrastStretchesEachChannel) {
  Image image = constant(1, 3, {50, 90, 0});
  image.rgb = {50, 90, 0, 100, 90, 10, 150, 90, 255};
  autocontrast(image);
  EXPECT_EQ(image.rgb, (std::vector<std::uint8_t>{0, 90, 0, 127, 90, 10, 255, 90, 255}));
}

TEST(AugmentOps, EqualizeSpreadsAKnownHistogram) {
  // 510 pixels each of 10, 20 and 30: steps of 1020 / 255 = 4 pixels a level.
  Image image{3, 510, {}};
  for (const std::uint8_t value : {10, 20, 30}) image.rgb.insert(image.rgb.end(), 510 * 3, value);
  equalize(image);
  EXPECT_EQ(red(image, 0, 0), 0);
  EXPECT_EQ(red(image, 1, 0), (510 + 2) / 4);
  EXPECT_EQ(red(image, 2, 0), 255);
  const Image flat = constant(20, 20, {3, 4, 5});
  Image same = flat;
  equalize(same);
  EXPECT_EQ(same.rgb, flat.rgb);
}

TEST(AugmentOps, GeometryMovesPixelsWhereItSays) {
  const Image image = numbered(5, 5);
  const Image quarter = rotated(image, 90);
  const Image moved = translated(image, 2, 1);
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 5; ++x) {
      EXPECT_EQ(red(quarter, y, x), red(image, x, 4 - y));  // counter-clockwise
      if (y >= 1 && x >= 2) {
        EXPECT_EQ(red(moved, y, x), red(image, y - 1, x - 2));
      }
    }
  }
  EXPECT_EQ(rotated(rotated(image, 90), -90).rgb, image.rgb);
  const Image wide = numbered(4, 12);
  const Image sheared = sheared_x(wide, 2);  // rows move by 1, 3, 5 and 7 to the left
  for (int y = 0; y < 2; ++y) EXPECT_EQ(red(sheared, y, 0), red(wide, y, 2 * y + 1));
  const Image tall = sheared_y(numbered(12, 4), 2);
  EXPECT_EQ(red(tall, 0, 1), 3 * 4 + 1);
}

TEST(RandAugment, MagnitudesAreTorchvisions) {
  EXPECT_DOUBLE_EQ(magnitude_of(AugmentOp::kShearX, 9, 224), 0.09);
  EXPECT_DOUBLE_EQ(magnitude_of(AugmentOp::kTranslateY, 30, 331), 150);
  EXPECT_DOUBLE_EQ(magnitude_of(AugmentOp::kRotate, 15, 224), 15);
  EXPECT_DOUBLE_EQ(magnitude_of(AugmentOp::kColor, 30, 224), 0.9);
  EXPECT_EQ(magnitude_of(AugmentOp::kPosterize, 9, 224), 7);
  EXPECT_EQ(magnitude_of(AugmentOp::kPosterize, 30, 224), 4);
  EXPECT_DOUBLE_EQ(magnitude_of(AugmentOp::kSolarize, 0, 224), 255);
  EXPECT_DOUBLE_EQ(magnitude_of(AugmentOp::kSolarize, 30, 224), 0);
  EXPECT_FALSE(is_signed(AugmentOp::kIdentity));
  EXPECT_FALSE(is_signed(AugmentOp::kPosterize));
  EXPECT_TRUE(is_signed(AugmentOp::kShearX) && is_signed(AugmentOp::kSharpness));
}

TEST(Augment, SameSeedSameBytesAndOthersDiffer) {
  const Image image = noise(60, 80);
  AugmentOptions options;
  options.image_size = 32;
  options.crop_scale = {0.3, 1};
  options.hue = options.contrast = options.night = 0.5;
  const auto run = [&](std::uint64_t picture, int epoch, int variant) {
    return augmented(image, options, augment_seed(42, epoch, picture, variant)).rgb;
  };
  EXPECT_EQ(run(5, 1, 2), run(5, 1, 2));
  EXPECT_EQ(run(5, 1, 2).size(), 32u * 32 * 3);
  std::set<std::uint64_t> seeds;
  for (int picture = 0; picture < 10; ++picture) {
    for (int epoch = 0; epoch < 10; ++epoch) {
      for (int variant = 0; variant < 4; ++variant) {
        seeds.insert(augment_seed(42, epoch, static_cast<std::uint64_t>(picture), variant));
      }
    }
  }
  EXPECT_EQ(seeds.size(), 400u);
  std::set<std::vector<std::uint8_t>> made;
  for (int i = 0; i < 8; ++i) made.insert(run(5, 1, i));
  EXPECT_EQ(made.size(), 8u);
}

TEST(Augment, NothingAskedForIsAPlainResize) {
  const Image image = noise(60, 80);
  AugmentOptions options;
  options.image_size = 32;
  options.crop_scale = {1, 1};
  options.brightness = options.contrast = options.saturation = options.night = 0;
  EXPECT_EQ(augmented(image, options, 1).rgb,
            resize_image(image, 32, 32, Resize::kPilBilinear).rgb);
  options.flip = 1;
  Image flipped = resize_image(image, 32, 32, Resize::kPilBilinear);
  flip_horizontally(flipped);
  EXPECT_EQ(augmented(image, options, 1).rgb, flipped.rgb);
  options.flip = 0;
  options.night = 1;
  const auto sum = [](const Image& i) {
    double total = 0;
    for (const std::uint8_t value : i.rgb) total += value;
    return total;
  };
  EXPECT_LT(sum(augmented(image, options, 1)), 0.7 * sum(flipped));
}

TEST(Augment, CropsKeepToTheirRanges) {
  AugmentOptions options;
  options.crop_scale = {0.25, 0.5};
  SplitMix64 random(3);
  double least = 1, most = 0;
  for (int i = 0; i < 2000; ++i) {
    const Crop crop = random_crop(600, 800, options, random);
    ASSERT_TRUE(crop.top >= 0 && crop.left >= 0);
    ASSERT_TRUE(crop.top + crop.height <= 600 && crop.left + crop.width <= 800);
    const double area = static_cast<double>(crop.height) * crop.width / (600.0 * 800);
    const double ratio = (crop.width / 800.0) / (crop.height / 600.0);
    ASSERT_GE(ratio, 0.74);
    ASSERT_LE(ratio, 1.35);
    least = std::min(least, area);
    most = std::max(most, area);
  }
  EXPECT_NEAR(least, 0.25, 0.01);
  EXPECT_NEAR(most, 0.5, 0.01);
  options.crop_scale = {1, 1};
  const Crop whole = random_crop(600, 800, options, random);
  EXPECT_TRUE(whole.height == 600 && whole.width == 800);
}

TEST(Augment, OptionsAreChecked) {
  const auto error = [](const std::function<void(AugmentOptions&)>& change) {
    AugmentOptions options;
    change(options);
    return message_of([&] { options.validate(); });
  };
  EXPECT_THAT(error([](auto& o) { o.crop_scale = {0, 1}; }), HasSubstr("crop_scale is 0 to 1"));
  EXPECT_THAT(error([](auto& o) { o.hue = 0.6; }), HasSubstr("hue is 0.6, 0 to 0.5"));
  EXPECT_THAT(error([](auto& o) { o.rand_magnitude = 31; }), HasSubstr("rand_magnitude is 31"));
  EXPECT_THAT(error([](auto& o) { o.flip = -1; }), HasSubstr("flip is -1"));
  EXPECT_THAT(error([](auto& o) { o.image_size = 0; }), HasSubstr("image_size is 0"));
  AugmentOptions other;
  other.night_gain[1] = 0.71;
  EXPECT_NE(other.key(), AugmentOptions().key());
}

}  // namespace
}  // namespace ria
