// SPDX-License-Identifier: MIT
#include "study/changes.h"

#include <array>
#include <cmath>
#include <random>

namespace ria {

namespace {

Homography rotation(double degrees, const Image& image) {
  const double angle = degrees * std::acos(-1.0) / 180, c = std::cos(angle), s = std::sin(angle);
  const double x = (image.width - 1) / 2.0, y = (image.height - 1) / 2.0;
  return {c, -s, x - c * x + s * y, s, c, y - s * x - c * y, 0, 0, 1};
}

/// Corners move by up to `magnitude` of the sides, each on its own.
Homography random_homography(double magnitude, const Image& image, std::uint32_t seed) {
  std::mt19937 engine(seed);
  const auto moved = [&](double side) {
    return magnitude * side * (2.0 * static_cast<double>(engine()) / 4294967295.0 - 1);
  };
  const double w = image.width - 1, h = image.height - 1;
  const std::array<std::array<double, 2>, 4> from{{{0, 0}, {w, 0}, {w, h}, {0, h}}};
  auto to = from;
  for (auto& [x, y] : to) {
    x += moved(w);
    y += moved(h);
  }
  return homography_of(from, to);
}

}  // namespace

Ladder brightness_ladder() {
  Ladder ladder{"Brightness", "brightness removed", 0, {}};
  for (const double removed : {0.2, 0.4, 0.6, 0.8, 0.9}) {
    ladder.changes.push_back({removed, [removed](const Image& image, std::uint32_t) {
                                Image dark = image;
                                for (std::uint8_t& value : dark.rgb) {
                                  value =
                                      static_cast<std::uint8_t>(std::lround(value * (1 - removed)));
                                }
                                return dark;
                              }});
  }
  return ladder;
}

Ladder rotation_ladder() {
  Ladder ladder{"Rotation", "degrees", 0, {}};
  for (const double degrees : {5.0, 10.0, 20.0, 30.0, 45.0}) {
    ladder.changes.push_back({degrees, [degrees](const Image& image, std::uint32_t) {
                                return warp_image(image, rotation(degrees, image));
                              }});
  }
  return ladder;
}

Ladder homography_ladder() {
  Ladder ladder{"Homography", "corner displacement, share of the side", 0, {}};
  for (const double magnitude : {0.02, 0.04, 0.08, 0.12, 0.16, 0.2}) {
    ladder.changes.push_back({magnitude, [magnitude](const Image& image, std::uint32_t seed) {
                                return warp_image(image, random_homography(magnitude, image, seed));
                              }});
  }
  return ladder;
}

Ladder scale_ladder() {
  Ladder ladder{"Scaled features", "factor", 1, {}};
  for (const float factor : {0.5f, 0.25f, 0.1f}) ladder.changes.push_back({factor, {}, factor});
  return ladder;
}

}  // namespace ria
