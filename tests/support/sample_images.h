// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ria/image.h"

namespace ria {

/// The same noise everywhere: a multiplicative congruential sequence.
inline Image noise(int height, int width) {
  Image image{
      height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(height) * width * 3)};
  std::uint32_t state = 12345;
  for (std::uint8_t& value : image.rgb) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<std::uint8_t>(state >> 24);
  }
  return image;
}

inline Image constant(int height, int width, std::array<std::uint8_t, 3> colour) {
  Image image{height, width, {}};
  for (int i = 0; i < height * width; ++i) {
    image.rgb.insert(image.rgb.end(), colour.begin(), colour.end());
  }
  return image;
}

}  // namespace ria
