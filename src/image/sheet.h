// SPDX-License-Identifier: MIT
// Pictures side by side, to be looked at.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ria/image.h"

namespace ria {

inline constexpr int kSheetTile = 512;  ///< pixels a picture's longest side gets
inline constexpr int kSheetGap = 50;
inline constexpr int kSheetTitle = 100;  ///< height of the line above the pictures
inline constexpr int kSheetFrame = 20;

/// A picture of the row, what stands above it and the colour of its frame.
struct SheetTile {
  Image picture;  ///< empty: it could not be read, and the tile says so
  std::string title;
  std::optional<std::array<std::uint8_t, 3>> frame;  ///< red, green, blue; none: no frame
};

/// White square tiles from left to right, each picture as large as fits and in the middle of its
/// tile. The frame covers the picture's rim. Titles are plain ASCII and shrink to the tile's width.
Image picture_row(const std::vector<SheetTile>& tiles);

}  // namespace ria
