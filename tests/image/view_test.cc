// SPDX-License-Identifier: MIT
// Pictures that somebody else holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "ria/recognizer.h"
#include "support/error_message.h"
#include "support/sample_images.h"

namespace ria {
namespace {

constexpr Resize kAllKinds[] = {Resize::kPilBilinear,
                                Resize::kPilLanczos,
                                Resize::kTensorBilinear,
                                Resize::kTensorBicubicAa,
                                Resize::kTensorNearest};

/// The picture in another order of bytes, with rows that end in some that mean nothing.
struct Frame {
  Frame(const Image& image, PixelFormat order, int padding) : format(order) {
    const bool alpha = order == PixelFormat::kRgba || order == PixelFormat::kBgra;
    const bool reversed = order == PixelFormat::kBgr || order == PixelFormat::kBgra;
    const int channels = order == PixelFormat::kGrey ? 1 : alpha ? 4 : 3;
    height = image.height;
    width = image.width;
    stride = width * channels + padding;
    bytes.assign(static_cast<std::size_t>(height) * stride, 123);
    for (int i = 0; i < height * width; ++i) {
      std::uint8_t* pixel = &bytes[i / width * stride + i % width * channels];
      for (int c = 0; c < std::min(channels, 3); ++c) {
        pixel[c] = image.rgb[i * 3 + (reversed ? 2 - c : c)];
      }
    }
  }
  ImageView view() const { return {bytes.data(), height, width, stride, format}; }

  int height, width, stride;
  PixelFormat format;
  std::vector<std::uint8_t> bytes;
};

Image grey_noise(int height, int width) {
  Image image = noise(height, width);
  for (std::size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = image.rgb[i / 3 * 3];
  return image;
}

TEST(ImageView, EveryOrderGivesTheSamePixels) {
  const Image colour = noise(23, 31), grey = grey_noise(23, 31);
  for (const PixelFormat format : {PixelFormat::kRgb,
                                   PixelFormat::kBgr,
                                   PixelFormat::kRgba,
                                   PixelFormat::kBgra,
                                   PixelFormat::kGrey}) {
    const Image& image = format == PixelFormat::kGrey ? grey : colour;
    const Frame frame(image, format, 5);
    for (const Resize kind : kAllKinds) {
      for (const std::array<int, 2> size : {std::array{23, 31}, {11, 31}, {23, 40}, {9, 17}}) {
        Preprocessing options;
        options.resize = kind;
        options.height = size[0];
        options.width = size[1];
        EXPECT_EQ(preprocess(frame.view(), options).chw, preprocess(image, options).chw);
        EXPECT_EQ(resize_image(frame.view(), size[0], size[1], kind).rgb,
                  resize_image(image, size[0], size[1], kind).rgb);
      }
    }
    EXPECT_EQ(to_pixels(frame.view(), Normalization::kCaffe).chw,
              to_pixels(image, Normalization::kCaffe).chw);
  }
}

TEST(ImageView, APartOfAPictureIsAPicture) {
  const Image image = noise(20, 30);
  Image part{8, 9, {}};
  for (int y = 0; y < 8; ++y) {
    const auto row = image.rgb.begin() + ((y + 5) * 30 + 7) * 3;
    part.rgb.insert(part.rgb.end(), row, row + 9 * 3);
  }
  const ImageView view(&image.rgb[(5 * 30 + 7) * 3], 8, 9, 30 * 3, PixelFormat::kRgb);
  EXPECT_EQ(to_pixels(view, Normalization::kRaw).chw, to_pixels(part, Normalization::kRaw).chw);
}

TEST(ImageView, IsDescribedAsThePictureIs) {
  MethodOptions options;
  options.longest_side = 96;
  const Recognizer recognizer("rootsift-gem", options);
  const Image image = noise(90, 120), grey = grey_noise(90, 120);
  EXPECT_EQ(recognizer.describe(Frame(image, PixelFormat::kBgr, 8).view()),
            recognizer.describe(image));
  EXPECT_EQ(recognizer.describe(Frame(grey, PixelFormat::kGrey, 3).view()),
            recognizer.describe(grey));
}

TEST(ImageView, ValidateNamesTheField) {
  const std::vector<std::uint8_t> bytes(300);
  const auto message = [](const ImageView& view) { return message_of([&] { view.validate(); }); };
  EXPECT_EQ(message({bytes.data(), 10, 10, 30, PixelFormat::kBgr}), "nothing was thrown");
  EXPECT_TRUE(contains(message({nullptr, 10, 10, 30, PixelFormat::kRgb}), "data is null"));
  EXPECT_TRUE(contains(message({bytes.data(), 0, 10, 30, PixelFormat::kRgb}), "height is 0"));
  EXPECT_TRUE(contains(message({bytes.data(), 10, -1, 30, PixelFormat::kRgb}), "width -1"));
  const std::string narrow = message({bytes.data(), 10, 10, 29, PixelFormat::kBgr});
  EXPECT_TRUE(contains(narrow, "stride is 29") && contains(narrow, "30")) << narrow;
  EXPECT_TRUE(contains(message({bytes.data(), 10, 10, 39, PixelFormat::kBgra}), "stride is 39"));
  EXPECT_THROW(ImageView(Image{2, 2, {1, 2, 3}}), std::invalid_argument);
  EXPECT_THROW(preprocess(ImageView{}, {}), std::invalid_argument);
}

}  // namespace
}  // namespace ria
