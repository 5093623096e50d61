// SPDX-License-Identifier: MIT
// Cars, leaves, roofs and the other small things; houses are in facade.cc, the ground in ground.cc.
#include "simulate/material.h"

#include <algorithm>

namespace ria::sim {
namespace {

/// Pseudo letters: dark cells of a coarse grid, the same from near and far.
Vec3 lettering(const FacePoint& p, float v0, float height, Vec3 board, Vec3 ink, std::uint32_t id) {
  const float cell = height * 0.16f, margin = height * 0.22f;
  const float x = p.u / cell, y = (p.v - v0 - margin) / (height - 2 * margin) * 5;
  if (y < 0 || y >= 5 || p.u < 2 * cell || p.u > p.length - 2 * cell) return board;
  const int i = floor_int(x), j = floor_int(y);
  const bool blank = i % 4 == 0 || hash32(id, static_cast<std::uint32_t>(i / 4)) % 7 == 0;
  const bool on =
      !blank && hash32(id, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)) % 100 < 58;
  const float seen = clamp01(2 - p.width_u / cell);  // far letters are their mean
  return mix(mix(board, ink, 0.35f), on ? ink : board, seen);
}

Surface board(const Solid& solid, const FacePoint& p, const Light& light) {
  Surface s;
  const Vec3 ink =
      luma(solid.colour) > 0.18f ? Vec3{0.04f, 0.04f, 0.05f} : Vec3{0.65f, 0.65f, 0.6f};
  const float height = solid.z1 - solid.z0;
  const float rows = std::max(1.0f, std::floor(height / 0.5f)), row = height / rows;
  const float at = solid.z0 + row * static_cast<float>(floor_int((p.v - solid.z0) / row));
  s.albedo =
      lettering(p, at, row, solid.colour, ink, solid.id + static_cast<std::uint32_t>(at * 8));
  if (light.night && solid.id % 3 == 0) s.emission = s.albedo * 0.5f;
  return s;
}

Surface car_body(const Solid& solid, const FacePoint& p, const Light& light) {
  Surface s;
  s.albedo = solid.colour;
  s.gloss = 0.12f;
  if (p.length > 3) {  // the side: wheels, door lines
    for (const float wheel : {0.19f, 0.80f}) {
      const float du = p.u - wheel * p.length, dv = p.v - 0.31f, r = std::sqrt(du * du + dv * dv);
      if (r < 0.38f)
        s.albedo = r < 0.2f ? Vec3{0.22f, 0.22f, 0.23f} : Vec3{0.012f, 0.012f, 0.012f}, s.gloss = 0;
    }
    const float door = std::min(std::abs(p.u - 0.42f * p.length), std::abs(p.u - 0.66f * p.length));
    s.albedo = s.albedo * (1 - 0.5f * edge(0.012f - door, p.width_u));
  } else {  // nose or tail: lamps, plate, bumper
    const float from_edge = std::min(p.u, p.length - p.u);
    if (p.v < 0.42f) s.albedo = s.albedo * 0.3f;
    if (from_edge > 0.6f && p.v > 0.45f && p.v < 0.57f) s.albedo = {0.5f, 0.5f, 0.45f};
    if (from_edge < 0.36f && p.v > 0.58f && p.v < 0.74f) {
      s.albedo = p.front ? Vec3{0.6f, 0.6f, 0.58f} : Vec3{0.35f, 0.01f, 0.01f};
      if (light.night) s.emission = s.albedo * 0.12f;
    }
  }
  return s;
}

Surface car_cabin(const Solid& solid, const FacePoint& p) {
  Surface s;
  const float top = solid.z1 - 0.09f, pillar = 0.10f;
  const float slope = (p.v - solid.z0) / (solid.z1 - solid.z0) * solid.inset_y;
  const float from_edge = std::min(p.u, p.length - p.u) - (p.length > 1.9f ? slope : 0);
  const bool middle = p.length > 1.9f && std::abs(p.u - p.length * 0.5f) < 0.06f;
  const bool glass = p.v < top && from_edge > pillar && !middle;
  s.albedo = glass ? Vec3{0.015f, 0.018f, 0.02f} : solid.colour;
  s.gloss = glass ? 0.35f : 0.12f;
  return s;
}

}  // namespace

Surface solid_surface(
    const Solid& solid, const FacePoint& p, Vec3 at, Vec3 normal, const Light& light) {
  Surface s;
  const float grain = noise(p.u * 0.35f + unit(solid.id), p.v * 0.35f, p.width_v * 0.35f);
  s.albedo = solid.colour * (0.75f + 0.5f * grain);
  switch (solid.kind) {
    case Kind::kRoof:  // rows of tiles
      s.albedo = s.albedo * (1 - 0.35f * bars(p.v, p.width_v * 1.5f, 0.28f, 0.07f));
      if (normal.z > 0.3f && light.snow > 0) s.albedo = mix(s.albedo, {0.75f, 0.78f, 0.83f}, 0.9f);
      break;
    case Kind::kBoard:
      s = board(solid, p, light);
      break;
    case Kind::kCarBody:
      s = car_body(solid, p, light);
      break;
    case Kind::kCarCabin:
      s = car_cabin(solid, p);
      break;
    case Kind::kHedge: {
      const float n = noise(p.u * 0.9f + at.x, p.v * 0.9f, p.width_u * 0.9f);
      s.albedo = solid.colour * (0.3f + 1.6f * n * n);
      break;
    }
    case Kind::kTrunk:
      s.albedo = solid.colour * (0.5f + noise(p.u * 2, p.v * 0.3f, p.width_u));
      break;
    case Kind::kLampHead:
      s.albedo = {0.2f, 0.2f, 0.2f};
      if (light.night) s.emission = solid.colour * 3;
      break;
    default:
      break;
  }
  if (light.snow > 0 && normal.z > 0.7f) s.albedo = {0.75f, 0.78f, 0.83f}, s.gloss = 0;
  if (light.wet > 0) s.albedo = s.albedo * 0.8f;
  return s;
}

Surface leaf_surface(const Blob& blob, Vec3 at, Vec3 normal, float width, const Light& light) {
  Surface s;
  const float n = noise(at.x * 0.31f + at.z * 0.2f, at.y * 0.31f + at.z * 0.3f, width * 0.4f);
  const float fine = noise(at.x * 1.2f - at.z * 0.7f, at.y * 1.2f + at.z, width * 1.3f);
  // Light gets lost between the leaves: the lower half of a crown is darker.
  s.albedo = blob.colour * ((0.15f + 0.6f * n + 1.3f * fine * fine) * (0.7f + 0.45f * normal.z));
  if (light.snow > 0 && normal.z > 0.3f)
    s.albedo = mix(s.albedo, {0.7f, 0.73f, 0.78f}, 0.35f * smooth(0.4f, 0.7f, fine));
  return s;
}

}  // namespace ria::sim
