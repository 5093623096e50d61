// SPDX-License-Identifier: MIT
#include "simulate/conditions.h"

#include <algorithm>
#include <bit>

namespace ria::sim {
namespace {

Vec3 lamp_light(const Street& street, Vec3 at, Vec3 normal) {
  Vec3 sum;
  const Lamp* lamp = street.lamps_near(at.y);
  for (int i = 0; i < 5; ++i) {
    const Vec3 to{lamp[i].x - at.x, lamp[i].y - at.y, lamp[i].z - at.z};
    const float square = dot(to, to) + 0.3f, inverse = 1 / std::sqrt(square);
    // A shade keeps the light from going up: only what is below the head is lit in full.
    const float facing = std::max(0.0f, dot(to, normal) * inverse) * 0.85f + 0.15f;
    const float shade = clamp01(to.z * inverse * 1.6f + 0.18f);
    sum += lamp[i].colour * (13 * facing * shade / square);
  }
  return sum;
}

Vec3 headlight(const Camera& camera, Vec3 at, Vec3 normal) {
  const Vec3 from = at - Vec3{camera.origin.x, camera.origin.y, 0.65f};
  const float ahead = from.x * camera.forward_x + from.y * camera.forward_y;
  if (ahead < 0.5f) return {};
  const float aside = (from.x * camera.forward_y - from.y * camera.forward_x) / ahead;
  const float up = from.z / ahead;
  const float beam = std::max(0.0f, 1 - aside * aside * 2.2f) * smooth(0.06f, -0.03f, up);
  const float facing = std::max(0.04f, -dot(from, normal) / ahead);
  return Vec3{1.0f, 0.95f, 0.82f} * (60 * beam * facing / (ahead * ahead + 12));
}

/// Share of the sun that gets past the houses: the street's two rows are walls of known height.
float sun_share(const Light& light, const Street& street, Vec3 at, Vec3 normal) {
  const Vec3 s = light.sun_direction;
  const int side = s.x < 0 ? 0 : 1;
  const float wall = side == 0 ? -kFacade : kFacade;
  const float t = (wall - at.x - normal.x * 0.1f) / s.x;
  if (t <= 0) return 1;  // behind the row that could shade it
  const float z = at.z + t * s.z, top = street.house_height(side, at.y + t * s.y);
  return smooth(-0.4f, 0.4f + 0.02f * t, z - top);
}

}  // namespace

Light make_light(Condition condition, std::uint64_t seed) {
  Light l;
  l.condition = condition;
  l.seed = static_cast<std::uint32_t>(hash(seed, 31, static_cast<std::uint64_t>(condition)));
  l.sun_direction = normalize({-0.55f, -0.35f, 0.95f});
  switch (condition) {
    case Condition::kDay:
      l.sun = {2.1f, 1.95f, 1.65f};
      l.sky_light = {0.62f, 0.72f, 0.92f};
      l.ground_light = {0.30f, 0.28f, 0.25f};
      l.zenith = {0.16f, 0.34f, 0.78f}, l.horizon = {0.70f, 0.82f, 0.98f};
      l.fog = {0.62f, 0.72f, 0.86f}, l.fog_distance = 420;
      l.cloud = 0.45f;
      break;
    case Condition::kNight:
      l.sky_light = {0.020f, 0.026f, 0.050f};
      l.ground_light = {0.016f, 0.014f, 0.014f};
      l.zenith = {0.008f, 0.012f, 0.034f}, l.horizon = {0.050f, 0.042f, 0.050f};
      l.fog = {0.030f, 0.028f, 0.036f}, l.fog_distance = 260;
      l.cloud = 0.5f, l.exposure = 2.6f, l.night = true;
      break;
    case Condition::kRain:
      l.sky_light = {0.66f, 0.69f, 0.74f};
      l.ground_light = {0.24f, 0.24f, 0.26f};
      l.zenith = {0.36f, 0.39f, 0.43f}, l.horizon = {0.54f, 0.56f, 0.58f};
      l.fog = {0.46f, 0.48f, 0.50f}, l.fog_distance = 130;
      l.cloud = 1.0f, l.wet = 1;
      break;
    case Condition::kSeason:
      l.sun_direction = normalize({0.80f, -0.45f, 0.42f});
      l.sun = {1.15f, 0.90f, 0.62f};
      l.sky_light = {0.72f, 0.78f, 0.90f};
      l.ground_light = {0.40f, 0.42f, 0.46f};
      l.zenith = {0.42f, 0.50f, 0.62f}, l.horizon = {0.86f, 0.84f, 0.82f};
      l.fog = {0.76f, 0.77f, 0.80f}, l.fog_distance = 240;
      l.cloud = 0.75f, l.snow = 1;
      break;
  }
  return l;
}

Vec3 sky_colour(const Light& light, Vec3 d) {
  const float up = std::max(d.z, 0.0f);
  Vec3 c = mix(light.horizon, light.zenith, std::sqrt(up));
  // Clouds lie in a plane; the offset keeps their far rows from shrinking to nothing.
  const float k = 1 / (up + 0.12f), shift = unit(light.seed);
  const float n = noise(d.x * k * 0.13f + shift, d.y * k * 0.13f - shift, 0.0015f * k * k);
  const float cover = smooth(0.62f - 0.5f * light.cloud, 0.92f - 0.5f * light.cloud, n);
  const Vec3 cloud = mix(light.horizon * 1.12f, light.horizon * 0.72f, smooth(0.45f, 0.85f, n));
  if (!light.night || n > 0.3f) c = mix(c, light.night ? cloud * 0.6f : cloud, cover * 0.85f);
  // Far towers, a fixed silhouette around the horizon.
  const float azimuth = d.x > 0 ? d.y : 4 - d.y;  // rises with the angle, enough for a silhouette
  const float fine = azimuth * 42;
  const int tower = floor_int(fine);
  const float top = 0.012f + 0.05f * unit(hash32(static_cast<std::uint32_t>(tower), 77)) *
                                 noise(azimuth * 0.21f, 0.3f, 0.001f);
  if (d.z < top) {
    c = mix(light.fog, light.fog * 0.72f, smooth(top + 0.0005f, top - 0.0015f, d.z));
    const std::uint32_t h = hash32(static_cast<std::uint32_t>(floor_int(fine * 5)),
                                   static_cast<std::uint32_t>(floor_int(d.z * 260)));
    if (light.night && h % 5 == 0) c += Vec3{0.06f, 0.045f, 0.02f};
  }
  return c;
}

Vec3 irradiance(
    const Light& light, const Street& street, const Camera& camera, Vec3 at, Vec3 normal) {
  Vec3 sum = mix(light.ground_light, light.sky_light, 0.5f + 0.5f * normal.z);
  // A street canyon sees less sky near the ground.
  sum = sum * mix(0.62f, 1.0f, clamp01(at.z * 0.09f));
  const float facing = dot(normal, light.sun_direction);
  if (light.sun.x > 0 && facing > 0)
    sum += light.sun * (facing * sun_share(light, street, at, normal));
  if (light.night) sum += lamp_light(street, at, normal) + headlight(camera, at, normal);
  return sum;
}

Vec3 through_air(const Light& light, Vec3 colour, float distance) {
  const float k = distance / light.fog_distance, square = k * k;
  return mix(colour, light.fog, square / (1 + square));
}

}  // namespace ria::sim
