// SPDX-License-Identifier: MIT
// From linear light to the bytes of a picture.
#include <algorithm>
#include <cmath>

#include "simulate/conditions.h"

namespace ria::sim {
namespace {

struct Frame {
  std::vector<Vec3> linear;
  int height, width;
  float horizon_row;

  Vec3& at(int row, int column) { return linear[static_cast<std::size_t>(row) * width + column]; }
};

/// A halo around every lamp in view, as a wet or dirty lens makes it.
void add_glow(Frame& frame, const Light& light, const Street& street, const Camera& camera) {
  for (const Lamp& lamp : street.lamps()) {
    const float dx = lamp.x - camera.origin.x, dy = lamp.y - camera.origin.y;
    const float ahead = dx * camera.forward_x + dy * camera.forward_y;
    if (ahead < 3 || ahead > kView) continue;
    const float aside = dx * camera.forward_y - dy * camera.forward_x;
    const float column = frame.width * 0.5f + camera.focal * aside / ahead;
    const float row = frame.horizon_row - camera.focal * (lamp.z - camera.origin.z) / ahead;
    const float size = camera.focal * (0.25f / ahead + 0.006f), reach = size * 7;
    const float power = 0.55f * light.fog_distance / (light.fog_distance + ahead);
    for (int y = std::max(0, floor_int(row - reach));
         y < std::min<float>(frame.height, row + reach);
         ++y)
      for (int x = std::max(0, floor_int(column - reach));
           x < std::min<float>(frame.width, column + reach);
           ++x) {
        const float u = (static_cast<float>(x) - column) / size,
                    v = (static_cast<float>(y) - row) / size;
        const float r = u * u + v * v;
        frame.at(y, x) += lamp.colour * (power * std::max(0.0f, 1 / (1 + r) - 0.02f));
      }
  }
}

/// Drops that fell while the shutter was open: thin slanted bright lines.
void add_streaks(Frame& frame, std::uint32_t seed) {
  const float scale = 360.0f / static_cast<float>(frame.height);
  for (int row = 0; row < frame.height; ++row)
    for (int column = 0; column < frame.width; ++column) {
      const float y = static_cast<float>(row) * scale,
                  x = static_cast<float>(column) * scale + y * 0.12f;
      const int lane = floor_int(x / 1.6f);
      const std::uint32_t start = hash32(seed, static_cast<std::uint32_t>(lane));
      const float along = (y + static_cast<float>(start % 97)) / 24;
      const int drop = floor_int(along);
      const std::uint32_t h = hash32(start, static_cast<std::uint32_t>(drop), 5);
      if (h % 100 >= 6) continue;
      const float fade = 1 - std::abs(2 * (along - static_cast<float>(drop)) - 1);
      Vec3& c = frame.at(row, column);
      c = mix(c, Vec3{0.62f, 0.65f, 0.68f}, 0.30f * fade * unit(h));
    }
}

/// A sum of four uniform numbers is near enough to a Gaussian of unit deviation.
float gaussian(std::uint32_t h) {
  const int sum = static_cast<int>(h & 255) + static_cast<int>(h >> 8 & 255) +
                  static_cast<int>(h >> 16 & 255) + static_cast<int>(h >> 24);
  return static_cast<float>(sum - 510) * (1 / 147.8f);
}

std::uint8_t to_byte(float linear) {
  const float v = std::max(linear, 0.0f);
  // A shoulder for the lights, then gamma 2.
  const float toned = v * (1 + v * 0.12f) / (1 + v * 0.55f);
  return static_cast<std::uint8_t>(std::min(255.0f, std::sqrt(toned) * 255 + 0.5f));
}

}  // namespace

Image develop(const Light& light,
              const Street& street,
              const Camera& camera,
              std::vector<Vec3> linear,
              int height,
              int width,
              float horizon_row) {
  Frame frame{std::move(linear), height, width, horizon_row};
  // The noise differs from picture to picture, not from run to run.
  const auto spot = hash(light.seed,
                         static_cast<std::uint64_t>(std::llround(camera.origin.x * 1000.0)),
                         static_cast<std::uint64_t>(std::llround(camera.origin.y * 1000.0)));
  const auto seed = static_cast<std::uint32_t>(spot);
  if (light.night) add_glow(frame, light, street, camera);
  if (light.wet > 0) add_streaks(frame, seed);
  const float read = light.night ? 0.004f : 0.002f, shot = light.night ? 0.022f : 0.010f;
  Image image{height, width, {}};
  image.rgb.resize(frame.linear.size() * 3);
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column) {
      const float u = 2 * static_cast<float>(column) / static_cast<float>(width) - 1;
      const float v = 2 * static_cast<float>(row) / static_cast<float>(height) - 1;
      const Vec3 c = frame.at(row, column) * (light.exposure * (1 - 0.10f * (u * u + v * v)));
      const std::uint32_t h =
          hash32(seed, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column));
      const float sigma = read + shot * std::sqrt(std::max(luma(c), 0.0f));
      const float grey = gaussian(h) * sigma,
                  tint = gaussian(h * 0x9e3779b1u ^ h >> 7) * sigma * 0.5f;
      std::uint8_t* out = image.rgb.data() + 3 * (static_cast<std::size_t>(row) * width + column);
      out[0] = to_byte(c.x + grey + tint);
      out[1] = to_byte(c.y + grey);
      out[2] = to_byte(c.z + grey - tint);
    }
  return image;
}

}  // namespace ria::sim
