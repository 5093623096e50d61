// SPDX-License-Identifier: MIT
// The face of a house: wall, windows, doors, shop fronts.
#include <algorithm>

#include "simulate/material.h"

namespace ria::sim {
namespace {

constexpr float kReveal =
    0.2f;  // metres the panes lie behind the wall: they shift as one passes by

Vec3 wall_colour(const Building& b, const FacePoint& p) {
  const float shift = unit(b.id);
  const float large = noise(p.u * 0.06f + shift, p.v * 0.05f + shift, p.width_u * 0.06f);
  const float fine = noise(p.u * 0.6f, p.v * 0.6f + shift, p.width_u * 0.6f);
  // Dirt runs down and splashes up.
  Vec3 c =
      b.wall_colour * (0.45f + 0.6f * large + 0.5f * fine) * mix(0.72f, 1.0f, clamp01(p.v * 0.8f));
  if (b.wall == Wall::kBrick) {
    const float row = p.v / 0.085f;
    const int course = floor_int(row);
    const float along = p.u / 0.24f + ((course & 1) != 0 ? 0.5f : 0.0f);
    const std::uint32_t h =
        hash32(static_cast<std::uint32_t>(course), static_cast<std::uint32_t>(floor_int(along)));
    const float seen = clamp01(1.3f - p.width_u / 0.12f);
    if (seen > 0) {
      const float joint = std::max(bars(p.v, p.width_v, 0.085f, 0.014f),
                                   bars(along * 0.24f, p.width_u, 0.24f, 0.014f));
      c = mix(c, mix(c * (0.7f + 0.6f * unit(h)), Vec3{0.34f, 0.31f, 0.28f}, joint), seen);
    }
  } else if (b.wall == Wall::kConcrete) {
    const float joint = std::max(bars(p.u, p.width_u, b.cell, 0.05f),
                                 bars(p.v - b.ground_height, p.width_v, b.floor_height, 0.05f));
    c = c * (1 - 0.5f * joint);
  }
  return c;
}

/// One pane with its frame; u, v from the middle of its lower edge.
Surface pane(const Building& b,
             float u,
             float v,
             float width,
             float height,
             std::uint32_t h,
             const FacePoint& p,
             const Light& light) {
  Surface s;
  const float from_edge = std::min(width / 2 - std::abs(u), std::min(v, height - v));
  float frame = 1 - edge(from_edge - 0.06f, p.width_u);
  const float part = width / static_cast<float>(b.mullions + 1);
  if (b.mullions > 0) frame = std::max(frame, bars(u + width / 2 + 0.025f, p.width_u, part, 0.05f));
  if (b.mullions == 2)
    frame = std::max(frame, edge(0.03f - std::abs(v - height * 0.68f), p.width_v));
  // What is behind the glass: a dark room, a curtain to the sides, a blind from above.
  Vec3 inside{0.02f, 0.022f, 0.025f};
  const float curtain = 0.2f + 0.25f * unit(h * 31u), blind = 0.6f * unit(h * 17u);
  const Vec3 cloth =
      mix(Vec3{0.5f, 0.48f, 0.42f}, Vec3{0.45f, 0.25f, 0.2f}, unit(h * 13u) * unit(h * 7u));
  float cover = 0;
  if (h % 3 == 0 && std::abs(u) > width * (0.5f - curtain))
    cover = 0.7f + 0.3f * bars(u, p.width_u, 0.12f, 0.06f);
  if (h % 5 < 2 && v > height * (1 - blind)) cover = 0.8f + 0.2f * bars(v, p.width_v, 0.08f, 0.04f);
  s.albedo = mix(inside, cloth * 0.6f, cover);
  s.gloss = 0.22f * (1 - frame) * (b.wall == Wall::kGlass ? 1.8f : 1);
  if (light.night && unit(h * 2654435761u) < b.lit) {
    const Vec3 lamp =
        mix(Vec3{1.0f, 0.62f, 0.25f}, Vec3{0.75f, 0.85f, 1.0f}, unit(h * 97u) * unit(h * 89u));
    s.emission = lamp * ((0.16f + 0.4f * unit(h * 53u)) * (cover > 0 ? 0.55f : 1.0f) *
                         (0.7f + 0.3f * v / height));
  }
  s.albedo = mix(s.albedo, b.frame_colour, frame);
  s.emission = s.emission * (1 - frame);
  return s;
}

Surface blend(const Surface& a, const Surface& b, float k) {
  return {mix(a.albedo, b.albedo, k), mix(a.emission, b.emission, k), mix(a.gloss, b.gloss, k)};
}

/// A window of a floor, on the grid of the house: `x` metres from the middle of its cell, `y` above
/// the floor.
Surface window_cell(const Building& b,
                    const FacePoint& p,
                    float x,
                    float y,
                    float cell,
                    std::uint32_t h,
                    const Light& light,
                    const Surface& wall) {
  const float width = std::min(b.window_width, cell - 0.15f), height = b.window_height,
              v = y - b.sill;
  Surface s = wall;
  const float half = width / 2;
  if (b.shutters) {
    const float leaf =
        edge(std::abs(x) - half, p.width_u) * edge(half * 1.9f - std::abs(x), p.width_u);
    const float tall = edge(std::min(v, height - v), p.width_v);
    s.albedo =
        mix(s.albedo, b.door_colour * (0.7f + 0.3f * bars(v, p.width_v, 0.1f, 0.06f)), leaf * tall);
  }
  // Sill and lintel stand out and throw a line of shadow.
  const float band = edge(half + 0.14f - std::abs(x), p.width_u);
  const float trim = edge(0.07f - std::abs(v + 0.07f), p.width_v) +
                     edge(0.09f - std::abs(v - height - 0.09f), p.width_v);
  s.albedo = mix(s.albedo, b.trim_colour, clamp01(trim) * band);
  s.albedo = s.albedo * (1 - 0.45f * band * edge(0.07f - std::abs(v + 0.22f), p.width_v));
  float top = height;
  if (b.arches) top -= 0.45f * half * (1 - std::sqrt(std::max(0.0f, 1 - (x / half) * (x / half))));
  const float open = edge(half - std::abs(x), p.width_u) * edge(std::min(v, top - v), p.width_v);
  if (open <= 0) return s;
  const float far_x = x + kReveal * p.lean_u, far_v = v + kReveal * p.lean_v;
  if (std::abs(far_x) > half || far_v < 0 || far_v > top) {
    Surface reveal;
    reveal.albedo = b.wall_colour * (far_v > top ? 0.35f : 0.6f);
    return blend(s, reveal, open);
  }
  return blend(s, pane(b, far_x, far_v, width, height, h, p, light), open);
}

Surface door(const Building& b, float x, float y, const FacePoint& p, const Surface& wall) {
  Surface s;
  s.albedo = b.door_colour;
  const float panel = std::max(edge(0.02f - std::abs(std::abs(x) - 0.32f), p.width_u),
                               edge(0.02f - std::abs(y - 1.1f), p.width_v));
  s.albedo = s.albedo * (1 - 0.5f * panel);
  if (y > 2.05f) s.albedo = {0.04f, 0.045f, 0.05f}, s.gloss = 0.15f;
  const float open = edge(0.52f - std::abs(x), p.width_u) * edge(2.5f - y, p.width_v);
  Surface around = wall;
  const float rim = edge(0.70f - std::abs(x), p.width_u) * edge(2.68f - y, p.width_v);
  around.albedo = mix(around.albedo, b.trim_colour, rim);
  return blend(around, s, open);
}

Surface shop(const Building& b, const FacePoint& p, const Light& light, const Surface& wall) {
  const float sign0 = b.ground_height - 0.95f, sign1 = b.ground_height - 0.2f;
  Surface s = wall;
  s.albedo = mix(b.base_colour, b.door_colour, 0.35f) * 0.8f;
  if (p.v > sign1) return wall;
  const bool lit = light.night && b.id % 5 < 3;
  if (p.v > sign0) {
    const float size = sign1 - sign0, cell = size * 0.17f;
    const int i = floor_int(p.u / cell), j = floor_int((p.v - sign0) / size * 7);
    const float from = (0.12f + 0.3f * unit(b.id * 3u)) * p.length,
                to = p.length - 0.12f * p.length;
    const bool letters = j > 0 && j < 6 && p.u > from && p.u < to && i % 4 != 0;
    const bool on =
        letters &&
        hash32(b.id, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)) % 100 < 58;
    const float seen = clamp01(2 - p.width_u / cell);
    s.albedo = mix(mix(b.sign_colour, b.ink_colour, letters ? 0.4f : 0),
                   on ? b.ink_colour : b.sign_colour,
                   seen);
    if (lit) s.emission = s.albedo * 0.9f;
    return s;
  }
  const int count = std::max(1, static_cast<int>(p.length / 3.1f));
  const float cell = p.length / static_cast<float>(count), x = (fract(p.u / cell) - 0.5f) * cell;
  const int i = floor_int(p.u / cell);
  const bool entrance = i == static_cast<int>(b.id % static_cast<std::uint32_t>(count));
  const float low = entrance ? 0.15f : 0.55f, half = entrance ? 0.65f : cell / 2 - 0.16f;
  const float depth = entrance ? 0.9f : 0.25f;
  const float open =
      edge(half - std::abs(x), p.width_u) * edge(std::min(p.v - low, sign0 - p.v), p.width_v);
  if (open <= 0) return s;
  const float far_x = x + depth * p.lean_u, far_v = p.v + depth * p.lean_v;
  Surface glass;
  glass.albedo = b.base_colour * 0.4f;
  if (std::abs(far_x) < half && far_v < sign0 && far_v > low) {
    // Goods on shelves: coloured boxes a metre behind the glass.
    const float deep_u = p.u + 1.1f * p.lean_u, deep_v = p.v + 1.1f * p.lean_v;
    const std::uint32_t h = hash32(static_cast<std::uint32_t>(floor_int(deep_u / 0.35f)),
                                   static_cast<std::uint32_t>(floor_int(deep_v / 0.42f)),
                                   b.id);
    const Vec3 goods =
        Vec3{0.05f + unit(h) * 0.2f, 0.05f + unit(h * 5u) * 0.14f, 0.04f + unit(h * 9u) * 0.13f} *
        (h % 3 == 0 ? 0.25f : 0.8f);
    const float seen = clamp01(1.5f - p.width_u / 0.3f);
    glass.albedo =
        mix(Vec3{0.06f, 0.06f, 0.06f}, deep_v < 1.7f ? goods : Vec3{0.04f, 0.04f, 0.04f}, seen);
    glass.gloss = 0.2f;
    if (lit) glass.emission = (glass.albedo + Vec3{0.10f, 0.08f, 0.05f}) * 1.3f;
    const float frame = 1 - edge(half - std::abs(far_x) - 0.05f, p.width_u);
    glass = blend(glass, {b.frame_colour, {}, 0}, frame);
  }
  return blend(s, glass, open);
}

}  // namespace

Surface house_surface(const Building& b, const FacePoint& p, const Light& light) {
  Surface wall;
  wall.albedo = wall_colour(b, p);
  if (light.wet > 0) wall.albedo = wall.albedo * 0.75f;
  if (b.pilasters) {
    const int count = std::max(1, static_cast<int>(p.length / 6));
    const float step = p.length / static_cast<float>(count);
    wall.albedo =
        mix(wall.albedo, b.trim_colour * 0.9f, 0.8f * bars(p.u + 0.25f, p.width_u, step, 0.5f));
  }
  if (p.v < b.ground_height) {
    if (!b.shop || !p.front)
      wall.albedo = mix(wall.albedo, b.base_colour, edge(1.0f - p.v, p.width_v) * 0.8f);
    if (b.shop && p.front) return shop(b, p, light, wall);
  } else if (b.courses) {
    const float course = bars(p.v - b.ground_height + 0.1f, p.width_v, b.floor_height, 0.2f);
    wall.albedo = mix(wall.albedo, b.trim_colour, 0.85f * course);
  }
  // Whole cells between two margins of 0.4 m: street.cc hangs balconies on the same grid.
  const float inner = p.length - 0.8f;
  const int cells = std::max(1, static_cast<int>(inner / b.cell));
  const float cell = inner / static_cast<float>(cells), along = (p.u - 0.4f) / cell;
  const int i = floor_int(along);
  const float x = (along - static_cast<float>(i) - 0.5f) * cell;
  const bool ground = p.v < b.ground_height;
  const int floor = ground ? -1 : floor_int((p.v - b.ground_height) / b.floor_height);
  const float y =
      ground ? p.v - 0.35f : p.v - b.ground_height - static_cast<float>(floor) * b.floor_height;
  const bool attic =
      !ground && b.ground_height + static_cast<float>(floor + 1) * b.floor_height > b.height;
  if (i < 0 || i >= cells || attic) return wall;
  if (ground && p.front && i == static_cast<int>(b.id / 7 % static_cast<std::uint32_t>(cells)))
    return door(b, x, p.v - 0.13f, p, wall);
  const std::uint32_t h =
      hash32(b.id, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(floor + 1));
  if (!p.front && hash32(b.id, static_cast<std::uint32_t>(i)) % 2 == 0)
    return wall;  // gable walls have few
  return window_cell(b, p, x, y, cell, h, light, wall);
}

}  // namespace ria::sim
