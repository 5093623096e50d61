// SPDX-License-Identifier: MIT
// Camera and rays. The camera looks level, so a picture column is one vertical plane: what stands
// in it is found once in plan view, and the rays of the column only differ in slope.
#pragma once

#include <vector>

#include "simulate/material.h"

namespace ria::sim {

/// What a column's plane cuts, as an interval of t. A ray is (x, y) = origin + t (dx, dy),
/// z = height + t slope; t is metres along the optical axis.
struct Span {
  float in, out;
  const Solid* solid;  // or
  const Blob* blob;
  bool x_first;  // a solid is entered through a face across x
};

struct Column {
  float dx = 0, dy = 0, norm = 1;
  std::vector<Span> spans;
};

enum class Face : std::uint8_t { kX0, kX1, kY0, kY1, kTop, kBottom };

struct Hit {
  float t = 1e9f;
  const Solid* solid = nullptr;
  const Blob* blob = nullptr;
  bool ground = false;
  Face face = Face::kX0;
  Vec3 normal;
};

class Renderer {
 public:
  Renderer(const CameraPose& pose, Condition condition, int height, int width, std::uint64_t seed);
  Image render();

 private:
  void cull();
  void aim(float column, Column& out) const;
  void push_solid(const Solid& solid, Column& out) const;
  void push_blob(const Blob& blob, Column& out) const;
  Hit trace(const Column& column, float z, float slope, float t_min) const;
  void meet_box(
      const Column& c, const Span& span, float z, float slope, float t_min, Hit& hit) const;
  void meet_solid(
      const Column& c, const Solid& s, float z, float slope, float t_min, Hit& hit) const;
  void meet_blob(
      const Column& c, const Span& span, float z, float slope, float t_min, Hit& hit) const;
  Vec3 shade(const Column& column, const Hit& hit, float z, float slope, bool mirrored) const;
  Surface surface(const Column& c, const Hit& hit, Vec3 at, float slope) const;
  Vec3 mirror(const Column& c, const Hit& hit, Vec3 at, float slope) const;
  Vec3 sample(const Column& column, float row, std::uint32_t* id) const;

  int height_, width_;
  Camera camera_;
  float horizon_;
  Street street_;
  Light light_;
  std::vector<const Solid*> solids_;
  std::vector<const Blob*> blobs_;
};

}  // namespace ria::sim
