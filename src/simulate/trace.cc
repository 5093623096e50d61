// SPDX-License-Identifier: MIT
// Where a ray ends.
#include <algorithm>

#include "simulate/render.h"

namespace ria::sim {
namespace {

float slope_x(const Solid& s) { return s.inset_x / (s.z1 - s.z0); }
float slope_y(const Solid& s) { return s.inset_y / (s.z1 - s.z0); }

Vec3 face_normal(const Solid& s, Face face) {
  switch (face) {
    case Face::kX0:
      return normalize({-1, 0, slope_x(s)});
    case Face::kX1:
      return normalize({1, 0, slope_x(s)});
    case Face::kY0:
      return normalize({0, -1, slope_y(s)});
    case Face::kY1:
      return normalize({0, 1, slope_y(s)});
    case Face::kTop:
      return {0, 0, 1};
    default:
      return {0, 0, -1};
  }
}

}  // namespace

/// Keeps what may be in view: in front, and inside the cone that holds the picture.
void Renderer::cull() {
  const auto visible = [this](float x, float y, float radius) {
    const float dx = x - camera_.origin.x, dy = y - camera_.origin.y;
    const float ahead = dx * camera_.forward_x + dy * camera_.forward_y;
    const float aside = std::abs(dx * camera_.forward_y - dy * camera_.forward_x);
    return ahead > -radius && ahead < kView &&
           aside < 0.77f * std::max(ahead, 0.0f) + 1.5f * radius;
  };
  for (const Solid& s : street_.solids) {
    const float half_x = (s.x1 - s.x0) / 2, half_y = (s.y1 - s.y0) / 2;
    if (visible(s.x0 + half_x, s.y0 + half_y, std::sqrt(half_x * half_x + half_y * half_y)))
      solids_.push_back(&s);
  }
  for (const Blob& b : street_.blobs)
    if (visible(b.x, b.y, b.radius)) blobs_.push_back(&b);
}

void Renderer::push_solid(const Solid& s, Column& out) const {
  const float ix = 1 / out.dx, iy = 1 / out.dy;
  const float xa = (s.x0 - camera_.origin.x) * ix, xb = (s.x1 - camera_.origin.x) * ix;
  const float ya = (s.y0 - camera_.origin.y) * iy, yb = (s.y1 - camera_.origin.y) * iy;
  const float x_in = std::min(xa, xb), y_in = std::min(ya, yb), in = std::max(x_in, y_in);
  const float to = std::min(std::max(xa, xb), std::max(ya, yb));
  if (in < to && to > 0.05f) out.spans.push_back({in, to, &s, nullptr, x_in > y_in});
}

void Renderer::push_blob(const Blob& b, Column& out) const {
  const float x = b.x - camera_.origin.x, y = b.y - camera_.origin.y;
  const float square = out.norm * out.norm, middle = (x * out.dx + y * out.dy) / square;
  const float off = x * x + y * y - middle * middle * square, half2 = b.radius * b.radius - off;
  if (half2 <= 0) return;
  const float half = std::sqrt(half2 / square);
  if (middle - half > 0.2f) out.spans.push_back({middle - half, middle + half, nullptr, &b, false});
}

/// The plane through a picture column (centre of column i: i + 0.5).
void Renderer::aim(float column, Column& out) const {
  const float aside = (column - 0.5f * static_cast<float>(width_)) / camera_.focal;
  out.dx = camera_.forward_x + aside * camera_.forward_y;
  out.dy = camera_.forward_y - aside * camera_.forward_x;
  // A ray that runs along a face would divide by zero.
  if (std::abs(out.dx) < 1e-6f) out.dx = 1e-6f;
  if (std::abs(out.dy) < 1e-6f) out.dy = 1e-6f;
  out.norm = std::sqrt(out.dx * out.dx + out.dy * out.dy);
  out.spans.clear();
  for (const Solid* s : solids_) push_solid(*s, out);
  for (const Blob* b : blobs_) push_blob(*b, out);
  std::sort(
      out.spans.begin(), out.spans.end(), [](const Span& a, const Span& b) { return a.in < b.in; });
}

/// An upright box: the plan view already knows where the ray enters its sides.
void Renderer::meet_box(
    const Column& c, const Span& span, float z, float slope, float t_min, Hit& hit) const {
  const Solid& s = *span.solid;
  const float near = z + slope * span.in;
  float t = span.in;
  Face face =
      span.x_first ? (c.dx > 0 ? Face::kX0 : Face::kX1) : (c.dy > 0 ? Face::kY0 : Face::kY1);
  if (near > s.z1) t = (s.z1 - z) / slope, face = Face::kTop;
  if (near < s.z0) t = (s.z0 - z) / slope, face = Face::kBottom;
  if (t < t_min || t >= hit.t || t > span.out || t < span.in) return;
  hit.t = t, hit.solid = &s, hit.blob = nullptr, hit.ground = false, hit.face = face;
}

/// Clips the ray by the six planes of a solid whose sides may lean inwards.
void Renderer::meet_solid(
    const Column& c, const Solid& s, float z, float slope, float t_min, Hit& hit) const {
  float in = -1e9f, out = 1e9f;
  Face face = Face::kTop;
  const auto clip = [&](float value, float rate, Face f) {  // inside where value + t rate >= 0
    const float t = -value / rate;
    if (rate > 0) {
      if (t > in) in = t, face = f;
    } else if (rate < 0) {
      out = std::min(out, t);
    } else if (value < 0) {
      out = -1e9f;
    }
  };
  const float kx = slope_x(s), ky = slope_y(s), rise = z - s.z0;
  const float ox = camera_.origin.x, oy = camera_.origin.y;
  clip(ox - s.x0 - kx * rise, c.dx - kx * slope, Face::kX0);
  clip(s.x1 - ox - kx * rise, -c.dx - kx * slope, Face::kX1);
  clip(oy - s.y0 - ky * rise, c.dy - ky * slope, Face::kY0);
  clip(s.y1 - oy - ky * rise, -c.dy - ky * slope, Face::kY1);
  clip(s.z1 - z, -slope, Face::kTop);
  clip(rise, slope, Face::kBottom);
  if (in >= out || in < t_min || in >= hit.t) return;
  if (s.kind == Kind::kRailing && face != Face::kTop) {  // bars, seen through
    const bool x_face = face == Face::kX0 || face == Face::kX1;
    const float u = x_face ? oy + in * c.dy : ox + in * c.dx, v = z + in * slope;
    const bool rail = v > s.z1 - 0.08f || v < s.z0 + 0.06f;
    if (!rail && fract(u / 0.14f) > 0.32f) return;
  }
  hit.t = in, hit.solid = &s, hit.blob = nullptr, hit.ground = false, hit.face = face;
}

/// A crown is met where its noise is above a threshold, on the near or the far side.
void Renderer::meet_blob(
    const Column& c, const Span& span, float z, float slope, float t_min, Hit& hit) const {
  const Blob& b = *span.blob;
  // In the plane of the column the ellipsoid is an ellipse around (middle, b.z).
  const float middle = (span.in + span.out) / 2, half = (span.out - span.in) / 2;
  const float tall = b.radius_z * half * c.norm / b.radius;
  const float dz = (z + slope * middle - b.z) / tall, m = slope * half / tall;
  const float q = 1 + m * m, root = q - dz * dz;
  if (root <= 0) return;
  const float r = std::sqrt(root);
  for (const float k : {(-dz * m - r) / q, (-dz * m + r) / q}) {
    const float t = middle + k * half;
    if (t < t_min || t >= hit.t) continue;
    const Vec3 at{camera_.origin.x + t * c.dx, camera_.origin.y + t * c.dy, z + t * slope};
    const float width = t / camera_.focal;
    const float coarse =
        noise(at.x * 0.25f + at.z * 0.17f, at.y * 0.25f + at.z * 0.2f, width * 0.3f);
    const float fine = noise(at.x * 1.1f + at.z * 0.8f, at.y * 1.1f + at.z, width);
    const float rim = std::min(1.0f, root);  // thin at the outline
    const float leaf =
        b.density > 0
            ? 2.4f * (fine - 0.5f) + 1.4f * (coarse - 0.5f) + rim - 0.95f + 0.4f * b.density
            : 0.035f - std::abs(fine - 0.5f);  // twigs: the noise's contour lines
    if (leaf < 0) continue;
    hit.t = t, hit.blob = &b, hit.solid = nullptr, hit.ground = false;
    const Vec3 out{(at.x - b.x) / b.radius, (at.y - b.y) / b.radius, (at.z - b.z) / b.radius_z};
    hit.normal = normalize(out + Vec3{(fine - 0.5f) * 4, (coarse - 0.5f) * 4, 0.2f});
    return;
  }
}

Hit Renderer::trace(const Column& column, float z, float slope, float t_min) const {
  Hit hit;
  if (slope < 0 && z > 0) hit.t = -z / slope, hit.ground = true;
  for (const Span& span : column.spans) {
    if (span.in > hit.t) break;
    if (span.out < t_min) continue;
    if (span.blob != nullptr) {
      meet_blob(column, span, z, slope, t_min, hit);
      continue;
    }
    const float near = z + slope * std::max(span.in, 0.0f), far = z + slope * span.out;
    if (std::min(near, far) > span.solid->z1 || std::max(near, far) < span.solid->z0) continue;
    if (span.solid->inset_x > 0 || span.solid->inset_y > 0 || span.solid->kind == Kind::kRailing)
      meet_solid(column, *span.solid, z, slope, t_min, hit);
    else
      meet_box(column, span, z, slope, t_min, hit);
  }
  if (hit.t > kView * 1.5f) hit = Hit{};
  if (hit.ground) hit.normal = {0, 0, 1};
  if (hit.solid != nullptr) hit.normal = face_normal(*hit.solid, hit.face);
  return hit;
}

}  // namespace ria::sim
