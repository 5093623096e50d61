// SPDX-License-Identifier: MIT
#include "image/sheet.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace ria {

namespace {

/// One line of black text with its middle at the point, no wider than a tile.
void draw_text(cv::Mat& sheet, const std::string& text, cv::Point middle) {
  constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
  constexpr int kThickness = 3;
  double scale = 1.7;  // capitals of 36 pixels
  int below = 0;
  cv::Size size = cv::getTextSize(text, kFont, scale, kThickness, &below);
  if (size.width > kSheetTile) {
    scale *= static_cast<double>(kSheetTile) / size.width;
    size = cv::getTextSize(text, kFont, scale, kThickness, &below);
  }
  const cv::Point corner(middle.x - size.width / 2, middle.y + size.height / 2);
  cv::putText(sheet, text, corner, kFont, scale, cv::Scalar::all(0), kThickness, cv::LINE_AA);
}

/// The size that fills a tile at the picture's own shape, (height, width).
std::array<int, 2> fitted(const Image& picture) {
  const double scale = static_cast<double>(kSheetTile) / std::max(picture.height, picture.width);
  const auto side = [&](int pixels) {
    return std::max(1, static_cast<int>(std::nearbyint(pixels * scale)));
  };
  return {side(picture.height), side(picture.width)};
}

void draw_frame(cv::Mat& picture, const std::array<std::uint8_t, 3>& colour) {
  // A panorama keeps at least half of its height.
  const int width = std::min({kSheetFrame, picture.rows / 4, picture.cols / 4});
  const cv::Scalar value(colour[0], colour[1], colour[2]);
  picture.rowRange(0, width).setTo(value);
  picture.rowRange(picture.rows - width, picture.rows).setTo(value);
  picture.colRange(0, width).setTo(value);
  picture.colRange(picture.cols - width, picture.cols).setTo(value);
}

void draw_tile(cv::Mat& sheet, const SheetTile& tile, int left) {
  draw_text(sheet, tile.title, {left + kSheetTile / 2, kSheetTitle / 2});
  if (tile.picture.empty()) {
    draw_text(sheet, "cannot be read", {left + kSheetTile / 2, kSheetTitle + kSheetTile / 2});
    return;
  }
  const auto [height, width] = fitted(tile.picture);
  Image resized = resize_image(tile.picture, height, width, Resize::kPilBicubic);
  cv::Mat picture(height, width, CV_8UC3, resized.rgb.data());
  if (tile.frame) draw_frame(picture, *tile.frame);
  const cv::Rect place(
      left + (kSheetTile - width) / 2, kSheetTitle + (kSheetTile - height) / 2, width, height);
  picture.copyTo(sheet(place));
}

}  // namespace

Image picture_row(const std::vector<SheetTile>& tiles) {
  const int count = std::max(1, static_cast<int>(tiles.size()));
  Image image{kSheetTitle + kSheetTile, count * (kSheetTile + kSheetGap) - kSheetGap, {}};
  image.rgb.assign(static_cast<std::size_t>(image.height) * image.width * 3, 255);
  cv::Mat sheet(image.height, image.width, CV_8UC3, image.rgb.data());
  int left = 0;
  for (const SheetTile& tile : tiles) {
    draw_tile(sheet, tile, left);
    left += kSheetTile + kSheetGap;
  }
  return image;
}

}  // namespace ria
