// SPDX-License-Identifier: MIT
// Procedural textures: what a point of a surface looks like before light falls on it.
#pragma once

#include "simulate/conditions.h"

namespace ria::sim {

/// What a material answers.
struct Surface {
  Vec3 albedo;
  Vec3 emission;
  float gloss = 0;  ///< share of the mirrored world, at normal incidence
};

/// A point on the face of a solid.
struct FacePoint {
  float u = 0, v = 0;  ///< metres along the face and above the ground
  float length = 0;    ///< metres, of the face along u
  float lean_u = 0,
        lean_v = 0;  ///< how far the ray goes along u, v while it goes 1 m into the face
  float width_u = 0.01f, width_v = 0.01f;  ///< metres a pixel covers
  bool front = true;                       ///< looks at the street
};

Surface house_surface(const Building& building, const FacePoint& p, const Light& light);
Surface solid_surface(
    const Solid& solid, const FacePoint& p, Vec3 at, Vec3 normal, const Light& light);
Surface leaf_surface(const Blob& blob, Vec3 at, Vec3 normal, float width, const Light& light);

/// Road, crossings and what lies beside them, at z = 0.
Surface ground_surface(
    const Street& street, const Light& light, Vec3 at, float across, float along);
Surface pavement_surface(const Solid& slab, const Light& light, Vec3 at, float width);

}  // namespace ria::sim
