// SPDX-License-Identifier: MIT
#include "image/sheet.h"

#include <algorithm>
#include <cmath>

#include "image/text.h"

namespace ria {

namespace {

/// The size that fills a tile at the picture's own shape, (height, width).
std::array<int, 2> fitted(const Image& picture) {
  const double scale = static_cast<double>(kSheetTile) / std::max(picture.height, picture.width);
  const auto side = [&](int pixels) {
    return std::max(1, static_cast<int>(std::nearbyint(pixels * scale)));
  };
  return {side(picture.height), side(picture.width)};
}

void draw_frame(Image& picture, const std::array<std::uint8_t, 3>& colour) {
  // A panorama keeps at least half of its height.
  const int width = std::min({kSheetFrame, picture.height / 4, picture.width / 4});
  std::uint8_t* rgb = picture.rgb.data();
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x, rgb += 3) {
      const bool inside = std::min(y, picture.height - 1 - y) >= width &&
                          std::min(x, picture.width - 1 - x) >= width;
      if (!inside) std::copy(colour.begin(), colour.end(), rgb);
    }
  }
}

/// Copies the picture into the sheet with its corner at (top, left).
void place(const Image& picture, int top, int left, Image& sheet) {
  const std::size_t row = static_cast<std::size_t>(picture.width) * 3;
  for (int y = 0; y < picture.height; ++y) {
    std::copy_n(picture.rgb.data() + y * row,
                row,
                &sheet.rgb[(static_cast<std::size_t>(top + y) * sheet.width + left) * 3]);
  }
}

void draw_tile(Image& sheet, const SheetTile& tile, int left) {
  const int middle = left + kSheetTile / 2;
  draw_text(sheet, tile.title, middle, kSheetTitle / 2, kSheetTile);
  if (tile.picture.empty()) {
    draw_text(sheet, "cannot be read", middle, kSheetTitle + kSheetTile / 2, kSheetTile);
    return;
  }
  const auto [height, width] = fitted(tile.picture);
  Image picture = resize_image(tile.picture, height, width, Resize::kPilBicubic);
  if (tile.frame) draw_frame(picture, *tile.frame);
  place(picture, kSheetTitle + (kSheetTile - height) / 2, left + (kSheetTile - width) / 2, sheet);
}

}  // namespace

Image picture_row(const std::vector<SheetTile>& tiles) {
  const int count = std::max(1, static_cast<int>(tiles.size()));
  Image sheet{kSheetTitle + kSheetTile, count * (kSheetTile + kSheetGap) - kSheetGap, {}};
  sheet.rgb.assign(static_cast<std::size_t>(sheet.height) * sheet.width * 3, 255);
  int left = 0;
  for (const SheetTile& tile : tiles) {
    draw_tile(sheet, tile, left);
    left += kSheetTile + kSheetGap;
  }
  return sheet;
}

}  // namespace ria
