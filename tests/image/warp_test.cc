// SPDX-License-Identifier: MIT
// Pictures moved and written on.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "image/text.h"
#include "ria/image.h"
#include "support/sample_images.h"

namespace ria {
namespace {

TEST(Warp, HomographyMapsItsPoints) {
  const std::array<std::array<double, 2>, 4> from{{{0, 0}, {99, 0}, {99, 49}, {0, 49}}};
  const std::array<std::array<double, 2>, 4> to{{{3, -2}, {90, 5}, {103, 44}, {-1, 60}}};
  const Homography h = homography_of(from, to);
  for (int i = 0; i < 4; ++i) {
    const auto [x, y] = from[i];
    const double w = h[6] * x + h[7] * y + h[8];
    EXPECT_NEAR((h[0] * x + h[1] * y + h[2]) / w, to[i][0], 1e-9);
    EXPECT_NEAR((h[3] * x + h[4] * y + h[5]) / w, to[i][1], 1e-9);
  }
}

TEST(Warp, WholePixelsMoveWhole) {
  const Image image = noise(9, 14);
  EXPECT_EQ(warp_image(image, {1, 0, 0, 0, 1, 0, 0, 0, 1}).rgb, image.rgb);
  const Image moved = warp_image(image, {1, 0, 3, 0, 1, -2, 0, 0, 1});
  for (int y = 0; y < 9; ++y) {
    for (int x = 0; x < 14; ++x) {
      // Mirrored at the border's pixels: -1 is 1, 9 is 7.
      const int from_y = y + 2 < 9 ? y + 2 : 16 - (y + 2), from_x = std::abs(x - 3);
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(moved.rgb[(y * 14 + x) * 3 + c], image.rgb[(from_y * 14 + from_x) * 3 + c]);
      }
    }
  }
}

TEST(Warp, FourQuarterTurnsAreNone) {
  const Image image = noise(11, 11);
  const Homography turn{0, -1, 10, 1, 0, 0, 0, 0, 1};
  Image turned = warp_image(image, turn);
  EXPECT_NE(turned.rgb, image.rgb);
  for (int i = 0; i < 3; ++i) turned = warp_image(turned, turn);
  EXPECT_EQ(turned.rgb, image.rgb);
}

TEST(Warp, BetweenPixelsIsTheirMean) {
  const Image image{2, 2, {0, 10, 20, 100, 10, 40, 50, 10, 60, 250, 10, 80}};
  const Image right = warp_image(image, {1, 0, -0.5, 0, 1, 0, 0, 0, 1});
  EXPECT_EQ(right.rgb[0], 50);
  EXPECT_EQ(right.rgb[1], 10);
  EXPECT_EQ(right.rgb[2], 30);
  const Image both = warp_image(image, {1, 0, -0.5, 0, 1, -0.5, 0, 0, 1});
  EXPECT_EQ(both.rgb[0], 100);
  EXPECT_EQ(both.rgb[2], 50);
  const Image flat = constant(7, 9, {1, 128, 255});
  EXPECT_EQ(warp_image(flat, {0.9, 0.1, 2, -0.2, 1.1, 1, 0.01, 0.002, 1}).rgb, flat.rgb);
  EXPECT_EQ(warp_image(constant(1, 1, {1, 2, 3}), {2, 0, 5, 0, 2, 7, 0, 0, 1}).rgb,
            (std::vector<std::uint8_t>{1, 2, 3}));
}

/// The box of what is darker than grey: top, bottom, left, right.
std::array<int, 4> ink(const Image& image) {
  std::array<int, 4> box{image.height, -1, image.width, -1};
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (image.rgb[(y * image.width + x) * 3] > 128) continue;
      box = {std::min(box[0], y), std::max(box[1], y), std::min(box[2], x), std::max(box[3], x)};
    }
  }
  return box;
}

TEST(Text, StandsAroundItsMiddle) {
  Image sheet = constant(100, 400, {255, 255, 255});
  draw_text(sheet, "HIH", 200, 50, 400);
  const auto [top, bottom, left, right] = ink(sheet);
  EXPECT_NEAR(bottom - top, 36 + 2, 1);  // capitals and the pen's thickness
  EXPECT_NEAR(top + bottom, 100, 2);
  EXPECT_NEAR(left + right, 400, 2);
}

TEST(Text, ShrinksToItsWidthAndDiffersByLetter) {
  Image sheet = constant(100, 400, {255, 255, 255});
  draw_text(sheet, "cannot be read at all, whatever is tried", 200, 50, 300);
  const auto [top, bottom, left, right] = ink(sheet);
  EXPECT_GE(left, 50 - 3);
  EXPECT_LE(right, 350 + 3);
  EXPECT_GT(right - left, 270);
  std::vector<std::vector<std::uint8_t>> letters;
  for (char c = '!'; c <= '~'; ++c) {
    if (c == 'l') continue;  // in this font the same as I
    Image one = constant(80, 80, {255, 255, 255});
    draw_text(one, std::string(1, c), 40, 40, 80);
    EXPECT_LT(ink(one)[0], 80) << c;
    letters.push_back(one.rgb);
  }
  std::sort(letters.begin(), letters.end());
  EXPECT_EQ(std::unique(letters.begin(), letters.end()), letters.end());
  // Nothing is drawn outside the picture, and what is no ASCII is a question.
  Image small = constant(10, 10, {255, 255, 255}), question = small;
  draw_text(small, "\xC3", 5, 5, 400);
  draw_text(question, "?", 5, 5, 400);
  EXPECT_EQ(small.rgb, question.rgb);
}

}  // namespace
}  // namespace ria
