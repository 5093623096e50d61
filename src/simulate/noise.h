// SPDX-License-Identifier: MIT
// Small vectors, hashes and filtered noise: everything random in the street comes from here, so a
// picture depends on its seed and pose only, never on the order in which threads run.
#pragma once

#include <cmath>
#include <cstdint>

namespace ria::sim {

/// A point or direction in metres (x: east, y: north, z: up), or a linear-light colour.
struct Vec3 {
  float x = 0, y = 0, z = 0;

  Vec3 operator+(Vec3 o) const { return {x + o.x, y + o.y, z + o.z}; }
  Vec3 operator-(Vec3 o) const { return {x - o.x, y - o.y, z - o.z}; }
  Vec3 operator*(Vec3 o) const { return {x * o.x, y * o.y, z * o.z}; }
  Vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
  Vec3& operator+=(Vec3 o) { return *this = *this + o; }
};

inline float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec3 normalize(Vec3 v) { return v * (1 / std::sqrt(dot(v, v))); }
inline float clamp01(float v) { return v < 0 ? 0 : v > 1 ? 1 : v; }
inline float mix(float a, float b, float k) { return a + (b - a) * k; }
inline Vec3 mix(Vec3 a, Vec3 b, float k) { return a + (b - a) * k; }
inline float luma(Vec3 c) { return 0.3f * c.x + 0.59f * c.y + 0.11f * c.z; }

inline float smooth(float low, float high, float v) {
  const float k = clamp01((v - low) / (high - low));
  return k * k * (3 - 2 * k);
}

/// std::floor is a library call without SSE4.1, which the shipped binary may not assume.
inline int floor_int(float v) {
  const int i = static_cast<int>(v);
  return i - (v < static_cast<float>(i));
}
inline float fract(float v) { return v - static_cast<float>(floor_int(v)); }

/// The splitmix64 finaliser.
inline std::uint64_t scramble(std::uint64_t v) {
  v += 0x9e3779b97f4a7c15ULL;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}
inline std::uint64_t hash(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  return scramble(scramble(scramble(a) ^ b) ^ c);
}
/// A cheaper hash for pixels and bricks.
inline std::uint32_t hash32(std::uint32_t a, std::uint32_t b, std::uint32_t c = 0) {
  std::uint32_t v =
      a * 0x9e3779b1u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu ^ (c + 0x165667b1u) * 0xc2b2ae35u;
  v = (v ^ (v >> 16)) * 0x7feb352du;
  v = (v ^ (v >> 15)) * 0x846ca68bu;
  return v ^ (v >> 16);
}
/// [0, 1)
inline float unit(std::uint32_t h) { return static_cast<float>(h >> 8) * (1.0f / 16777216.0f); }

/// The random numbers of one object, in the order its builder asks for them.
class Dice {
 public:
  explicit Dice(std::uint64_t state) : state_(state) {}
  std::uint32_t bits() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return static_cast<std::uint32_t>(scramble(state_) >> 32);
  }
  float next() { return unit(bits()); }
  float range(float low, float high) { return low + (high - low) * next(); }
  int pick(int count) { return static_cast<int>(next() * static_cast<float>(count)); }
  bool chance(float probability) { return next() < probability; }

 private:
  std::uint64_t state_;
};

/// Fractal noise in about [0, 1], mean 0.5, period 1 in both directions, averaged over a square of
/// side `footprint` (same unit): far surfaces get their mean instead of flicker.
float noise(float u, float v, float footprint);

/// Share of [v - width/2, v + width/2] covered by bars of length `bar` that start at every multiple
/// of `period`: a dashed line or a row of windows without aliasing.
float bars(float v, float width, float period, float bar);

/// Share of a pixel of side `width` at distance `inside` (metres, > 0: inside) covered by the
/// shape.
inline float edge(float inside, float width) { return clamp01(inside / width + 0.5f); }

}  // namespace ria::sim
