// SPDX-License-Identifier: MIT
// Pictures of a camera that was not held upright.
#pragma once

#include <cstdint>
#include <string>

#include "ria/image.h"

namespace ria {

/// How a camera stores what is to be seen as `seen`, by the words of the EXIF standard: which side
/// of the picture its first row and its first column are.
inline Image stored_as(const Image& seen, int orientation) {
  constexpr const char* kFirstRow[] = {
      "top", "top", "bottom", "bottom", "left", "right", "right", "left"};
  constexpr const char* kFirstColumn[] = {
      "left", "right", "right", "left", "top", "top", "bottom", "bottom"};
  const auto distance_from = [&](const std::string& side, int y, int x) {
    if (side == "top") return y;
    if (side == "bottom") return seen.height - 1 - y;
    return side == "left" ? x : seen.width - 1 - x;
  };
  Image stored = seen;
  if (orientation >= 5) stored = Image{seen.width, seen.height, seen.rgb};
  for (int y = 0; y < seen.height; ++y) {
    for (int x = 0; x < seen.width; ++x) {
      const int row = distance_from(kFirstRow[orientation - 1], y, x);
      const int column = distance_from(kFirstColumn[orientation - 1], y, x);
      for (int c = 0; c < 3; ++c) {
        stored.rgb[(row * stored.width + column) * 3 + c] = seen.rgb[(y * seen.width + x) * 3 + c];
      }
    }
  }
  return stored;
}

inline std::string number_bytes(std::uint32_t value, int size, bool little) {
  std::string bytes;
  for (int i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(value >> 8 * (little ? i : size - 1 - i)));
  }
  return bytes;
}

/// An entry of a TIFF directory with one value; type 3 is a 16-bit, 4 a 32-bit number.
inline std::string tiff_entry(std::uint32_t tag,
                              std::uint32_t type,
                              std::uint32_t value,
                              bool little) {
  const std::string number = number_bytes(value, type == 3 ? 2 : 4, little);
  return number_bytes(tag, 2, little) + number_bytes(type, 2, little) + number_bytes(1, 4, little) +
         number + std::string(4 - number.size(), '\0');
}

/// EXIF with a few entries around the orientation.
inline std::string exif(std::uint32_t orientation, bool little, std::uint32_t type = 3) {
  return (little ? "II" : "MM") + number_bytes(42, 2, little) + number_bytes(8, 4, little) +
         number_bytes(3, 2, little) + tiff_entry(256, 4, 77, little) +
         tiff_entry(274, type, orientation, little) + tiff_entry(296, 3, 2, little) +
         number_bytes(0, 4, little);
}

/// A JPEG file with this EXIF in it.
inline std::string with_exif(const std::string& jpeg, const std::string& exif_bytes) {
  const std::string body = std::string("Exif\0\0", 6) + exif_bytes;
  return jpeg.substr(0, 2) + "\xFF\xE1" +
         number_bytes(static_cast<std::uint32_t>(body.size() + 2), 2, false) + body +
         jpeg.substr(2);
}

}  // namespace ria
