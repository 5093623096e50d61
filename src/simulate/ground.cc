// SPDX-License-Identifier: MIT
// Road, markings, pavement, grass; wet or under snow.
#include <algorithm>

#include "simulate/material.h"

namespace ria::sim {
namespace {

Vec3 asphalt(const Street& street, float x, float y, float width) {
  const float grain = noise(x * 0.55f, y * 0.55f, width * 0.55f);
  const float stain = noise(x * 0.045f + 0.3f, y * 0.021f, width * 0.03f);
  float tone = 0.085f + 0.07f * (grain - 0.5f) + 0.09f * (stain - 0.5f);
  // Wheel tracks are polished, the middle of a lane is oily.
  const float lane = std::abs(std::abs(x) - 1.75f);
  tone += 0.012f * smooth(0.4f, 0.75f, lane) * smooth(1.2f, 0.8f, lane) -
          0.014f * smooth(0.4f, 0, lane);
  // Repairs: some cells of the road are newer.
  const int i = floor_int(x / 2.9f), j = floor_int(y / 7);
  const std::uint32_t h = hash32(static_cast<std::uint32_t>(i),
                                 static_cast<std::uint32_t>(j),
                                 static_cast<std::uint32_t>(street.seed));
  if (h % 9 == 0) {
    const float u = std::abs(fract(x / 2.9f) - 0.5f), v = std::abs(fract(y / 7) - 0.5f);
    const float half_v = 0.15f + 0.3f * unit(h * 7919u);
    if (u < 0.38f && v < half_v) tone *= u > 0.355f || v > half_v - 0.02f ? 0.5f : 0.72f;
  }
  return Vec3{1.0f, 0.98f, 0.95f} * std::max(tone, 0.02f);
}

/// Paint on the road, 0 to 1.
float markings(const Metre& metre, float x, float y, float across, float along) {
  const float off = std::abs(y - metre.crossing), side = std::abs(x);
  const bool crossing = metre.open[0] || metre.open[1];
  const float clear = crossing ? smooth(kSideStreet + 6.2f, kSideStreet + 6.6f, off) : 1;
  float paint = edge(0.07f - side, across) * bars(y, along, 9, 4) * clear;
  paint = std::max(paint, edge(0.06f - std::abs(side - kLaneEdge), across) * clear);
  // Parking bays.
  if (side > kLaneEdge && side < kKerb - 0.2f)
    paint = std::max(paint, 0.7f * clear * bars(y, along, 12.2f, 0.1f));
  if (crossing && side < kLaneEdge) {
    const float zebra = edge(1.5f - std::abs(off - kSideStreet - 2.5f), along);
    paint = std::max(paint, zebra * bars(x + 0.25f, across, 1.0f, 0.5f));
    const bool coming = (y < metre.crossing) == (x > 0);  // stop lines in the lane that arrives
    if (coming) paint = std::max(paint, edge(0.2f - std::abs(off - kSideStreet - 5), along));
  }
  return paint;
}

Vec3 snowed(const Light& light, Vec3 colour, float amount, float x, float y, float width) {
  const float patch = noise(x * 0.13f, y * 0.11f, width * 0.13f);
  const float cover = light.snow * smooth(0.75f - amount * 0.7f, 0.95f - amount * 0.7f, patch);
  return mix(colour, Vec3{0.74f, 0.77f, 0.82f} * (0.9f + 0.2f * patch), cover);
}

}  // namespace

Surface ground_surface(
    const Street& street, const Light& light, Vec3 at, float across, float along) {
  const Metre& metre = street.metre(at.y);
  const float side = std::abs(at.x), width = std::min(std::sqrt(across * along), 20 * across);
  Surface s;
  const bool street_here =
      side < kKerb + 0.01f ||
      (metre.open[at.x > 0] && std::abs(at.y - metre.crossing) < kSideStreet + 0.01f);
  if (!street_here) {
    const float n = noise(at.x * 0.2f, at.y * 0.2f, width * 0.2f);
    const Vec3 grass = mix(Vec3{0.10f, 0.13f, 0.04f}, Vec3{0.16f, 0.15f, 0.08f}, n);
    s.albedo = snowed(light, grass, 1, at.x, at.y, width);
    return s;
  }
  s.albedo = asphalt(street, at.x, at.y, width);
  const float worn = 0.55f + 0.5f * noise(at.x * 0.3f, at.y * 0.3f, width * 0.3f);
  const float paint = markings(metre, at.x, at.y, across, along) * clamp01(worn);
  s.albedo = mix(s.albedo, {0.55f, 0.55f, 0.52f}, paint * (1 - 0.35f * light.snow));
  // The gutter collects leaves, dirt, and snow that ploughs pushed aside.
  s.albedo = s.albedo * mix(0.65f, 1, smooth(kKerb, kKerb - 0.5f, side));
  const float tracks = std::abs(side - 1.75f);
  s.albedo =
      snowed(light, s.albedo, mix(0.35f, 0.95f, smooth(1.0f, 2.1f, tracks)), at.x, at.y, width);
  if (light.wet > 0) {
    const float puddle = noise(at.x * 0.07f, at.y * 0.05f + 0.5f, width * 0.07f);
    s.albedo = s.albedo * 0.55f;
    s.gloss = 0.35f + 0.40f * smooth(0.35f, 0.75f, puddle);
  } else if (light.night) {
    s.gloss = 0.04f;
  }
  return s;
}

Surface pavement_surface(const Solid& slab, const Light& light, Vec3 at, float width) {
  Surface s;
  const float side = std::abs(at.x);
  const float n = noise(at.x * 0.4f, at.y * 0.4f, width * 0.4f);
  const float stain = noise(at.x * 0.08f, at.y * 0.05f, width * 0.08f);
  Vec3 colour = slab.colour * (0.7f + 0.35f * n + 0.25f * stain);
  // Slabs of 0.6 m with dark joints; each has its own tone.
  const float joint = std::max(bars(at.x, width, 0.6f, 0.025f), bars(at.y, width, 0.6f, 0.025f));
  const std::uint32_t h = hash32(static_cast<std::uint32_t>(floor_int(at.x / 0.6f)),
                                 static_cast<std::uint32_t>(floor_int(at.y / 0.6f)));
  colour = colour * (1 + (unit(h) - 0.5f) * 0.25f * clamp01(1.2f - width)) * (1 - 0.5f * joint);
  if (side < kKerb + 0.3f)
    colour = mix(Vec3{0.36f, 0.35f, 0.33f}, colour, 0.2f) * (0.9f + 0.2f * n);
  if (side > kFacade + 0.9f) {  // front gardens
    colour = mix(colour, Vec3{0.09f, 0.12f, 0.04f} * (0.7f + 0.6f * n), 0.8f);
  }
  s.albedo = snowed(light, colour, 0.8f + 0.2f * smooth(7.5f, 9, side), at.x, at.y, width);
  if (light.wet > 0) {
    s.albedo = s.albedo * 0.6f;
    s.gloss = 0.10f + 0.25f * smooth(0.4f, 0.7f, stain);
  }
  return s;
}

}  // namespace ria::sim
