// SPDX-License-Identifier: MIT
// Light and weather.
#pragma once

#include "ria/image.h"
#include "simulate/street.h"

namespace ria::sim {

struct Light {
  Condition condition = Condition::kDay;
  std::uint32_t seed = 0;  ///< of the clouds
  Vec3 sun_direction;      ///< towards the sun
  Vec3 sun;                ///< black where the sky is covered
  Vec3 sky_light;          ///< on a surface that looks up
  Vec3 ground_light;       ///< on a surface that looks down
  Vec3 zenith, horizon;    ///< of the sky
  Vec3 fog;
  float fog_distance = 500;  ///< metres at which half of the contrast is gone
  float cloud = 0.5f;        ///< share of the sky covered
  float exposure = 1;
  float wet = 0, snow = 0;  ///< 0 to 1
  bool night = false;
};

/// Where the picture is taken from: origin in metres, unit forward direction in the ground plane.
struct Camera {
  Vec3 origin;
  float forward_x = 0, forward_y = 1;
  float focal = 300;  ///< pixels
};

Light make_light(Condition condition, std::uint64_t seed);

/// Radiance of the sky with its clouds and, near the horizon, the far city. Unit direction.
Vec3 sky_colour(const Light& light, Vec3 direction);

/// The light that falls on a surface at `at` with normal `normal`.
Vec3 irradiance(
    const Light& light, const Street& street, const Camera& camera, Vec3 at, Vec3 normal);

/// The air between the camera and a point `distance` metres away.
Vec3 through_air(const Light& light, Vec3 colour, float distance);

/// What the lens and sensor add: glow of lamps, rain streaks, noise, tone curve, 8 bits.
/// `linear` holds height * width colours.
Image develop(const Light& light,
              const Street& street,
              const Camera& camera,
              std::vector<Vec3> linear,
              int height,
              int width,
              float horizon_row);

}  // namespace ria::sim
