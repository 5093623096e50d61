// SPDX-License-Identifier: MIT
// What a ray sees, and the picture made of rays.
#include "simulate/render.h"

#include <algorithm>
#include <numbers>

namespace ria {
namespace sim {

Renderer::Renderer(
    const CameraPose& pose, Condition condition, int height, int width, std::uint64_t seed)
    : height_(height),
      width_(width),
      horizon_(0.57f * static_cast<float>(height)),
      street_(static_cast<float>(pose.north), condition, seed),
      light_(make_light(condition, seed)) {
  const double heading = pose.heading * std::numbers::pi / 180;
  camera_.origin = {static_cast<float>(pose.east),
                    static_cast<float>(pose.north),
                    static_cast<float>(pose.height)};
  camera_.forward_x = static_cast<float>(std::sin(heading));
  camera_.forward_y = static_cast<float>(std::cos(heading));
  camera_.focal = 0.66f * static_cast<float>(width);  // 74 degrees from side to side
  cull();
}

Surface Renderer::surface(const Column& c, const Hit& hit, Vec3 at, float slope) const {
  const float width = hit.t / camera_.focal;
  if (hit.blob != nullptr) return leaf_surface(*hit.blob, at, hit.normal, width, light_);
  const float grazing = width * hit.t / std::max(camera_.origin.z - at.z, 0.2f);
  if (hit.ground) return ground_surface(street_, light_, at, width, grazing);
  const Solid& s = *hit.solid;
  if (hit.face == Face::kTop && s.kind == Kind::kPavement)
    return pavement_surface(s, light_, at, std::min(std::sqrt(width * grazing), 20 * width));
  FacePoint p;
  const bool x_face = hit.face == Face::kX0 || hit.face == Face::kX1;
  const float into = std::max(std::abs(x_face ? c.dx : c.dy), 1e-4f);
  p.u = x_face ? at.y - s.y0 : at.x - s.x0;
  p.v = at.z;
  p.length = x_face ? s.y1 - s.y0 : s.x1 - s.x0;
  p.lean_u = (x_face ? c.dy : c.dx) / into;
  p.lean_v = slope / into;
  p.width_u = width * c.norm / into;
  p.width_v = width;
  p.front = hit.face == (s.x0 > 0 ? Face::kX0 : Face::kX1);
  if (s.kind == Kind::kCarBody) p.front = (hit.face == Face::kY1) == (s.x0 > 0);
  if (s.kind == Kind::kHouse && hit.face != Face::kTop)
    return house_surface(street_.buildings[s.building], p, light_);
  return solid_surface(s, p, at, hit.normal, light_);
}

/// What a shiny surface shows: the true world on wet ground, sky or a street in windows.
Vec3 Renderer::mirror(const Column& c, const Hit& hit, Vec3 at, float slope) const {
  if (hit.normal.z > 0.9f) {
    // The mirrored camera stands below the ground; ripples smear its picture vertically.
    const float ripple = noise(at.x * 0.8f, at.y * 0.5f, 0.003f) - 0.5f;
    const float up = std::max(0.002f, -slope * (1 + 0.2f * ripple));
    const float z = at.z - up * hit.t;
    return shade(c, trace(c, z, up, hit.t + 0.05f), z, up, true);
  }
  const Vec3 d = normalize({c.dx, c.dy, slope});
  const Vec3 r = d - hit.normal * (2 * dot(d, hit.normal));
  // The other side of the street hides the low part of the sky.
  const float wall = street_.house_height(r.x < 0 ? 0 : 1, at.y + 12 * r.y);
  const float reach = at.z + 2 * kFacade * r.z / std::max(std::abs(r.x), 0.05f);
  const Vec3 front = (light_.sky_light + light_.ground_light) *
                     (0.13f + 0.1f * noise(at.y * 0.05f + r.y, r.z, 0.01f));
  const float clear = smooth(wall - 1.5f, wall + 1.5f, reach);
  return r.z < 0 || clear <= 0 ? front : mix(front, sky_colour(light_, r), clear);
}

Vec3 Renderer::shade(const Column& c, const Hit& hit, float z, float slope, bool mirrored) const {
  if (hit.t > 1e8f) return sky_colour(light_, normalize({c.dx, c.dy, slope}));
  const Vec3 at{
      camera_.origin.x + hit.t * c.dx, camera_.origin.y + hit.t * c.dy, z + hit.t * slope};
  const Surface s = surface(c, hit, at, slope);
  Vec3 light = irradiance(light_, street_, camera_, at, hit.normal);
  if (at.z < 0.2f && hit.normal.z > 0.9f) light = light * street_.ground_light(at.x, at.y);
  Vec3 colour = s.albedo * light + s.emission;
  if (s.gloss > 0 && !mirrored) {
    // Schlick: everything is a mirror at grazing angles.
    const float facing = std::abs(dot(normalize({c.dx, c.dy, slope}), hit.normal)), k = 1 - facing;
    const float share =
        hit.normal.z > 0.9f ? s.gloss * k * k : s.gloss + (1 - s.gloss) * k * k * k * k * 0.7f;
    colour = mix(colour, mirror(c, hit, at, slope), share);
  }
  return through_air(light_, colour, hit.t * c.norm);
}

Vec3 Renderer::sample(const Column& column, float row, std::uint32_t* id) const {
  const float slope = (horizon_ - row) / camera_.focal;
  const Hit hit = trace(column, camera_.origin.z, slope, 0.05f);
  if (id != nullptr)
    *id = hit.solid != nullptr  ? hit.solid->id * 8 + static_cast<std::uint32_t>(hit.face)
          : hit.blob != nullptr ? 2u
                                : hit.ground;
  return shade(column, hit, camera_.origin.z, slope, false);
}

Image Renderer::render() {
  const auto size = static_cast<std::size_t>(height_) * width_;
  std::vector<Vec3> colours(size);
  std::vector<std::uint32_t> ids(size);
  Column column;
  for (int x = 0; x < width_; ++x) {
    aim(static_cast<float>(x) + 0.5f, column);
    for (int y = 0; y < height_; ++y)
      colours[static_cast<std::size_t>(y) * width_ + x] = sample(
          column, static_cast<float>(y) + 0.5f, &ids[static_cast<std::size_t>(y) * width_ + x]);
  }
  // Two more samples where two things or two strong tones meet; textures filter themselves.
  std::vector<std::uint8_t> rough(size, 0);
  const auto differ = [&](std::size_t a, std::size_t b) {
    const float la = luma(colours[a]), lb = luma(colours[b]);
    if (ids[a] != ids[b] || std::abs(la - lb) > 0.16f * (la + lb) + 0.01f) rough[a] = rough[b] = 1;
  };
  for (int y = 0; y < height_; ++y)
    for (int x = 0; x < width_; ++x) {
      const std::size_t at = static_cast<std::size_t>(y) * width_ + x;
      if (x + 1 < width_) differ(at, at + 1);
      if (y + 1 < height_) differ(at, at + width_);
    }
  for (int x = 0; x < width_; ++x)
    for (int half = 0; half < 2; ++half) {
      aim(static_cast<float>(x) + (half == 0 ? 0.25f : 0.75f), column);
      for (int y = 0; y < height_; ++y) {
        const std::size_t at = static_cast<std::size_t>(y) * width_ + x;
        if (rough[at] == 0) continue;
        const Vec3 more =
            sample(column, static_cast<float>(y) + (half == 0 ? 0.2f : 0.8f), nullptr);
        colours[at] = colours[at] * (half == 0 ? 1.0f / 3 : 1.0f) + more * (1.0f / 3);
      }
    }
  return develop(light_, street_, camera_, std::move(colours), height_, width_, horizon_);
}

}  // namespace sim

Image render_street(
    const CameraPose& pose, Condition condition, int height, int width, std::uint64_t seed) {
  return sim::Renderer(pose, condition, height, width, seed).render();
}

}  // namespace ria
