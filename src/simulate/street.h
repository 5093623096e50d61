// SPDX-License-Identifier: MIT
// The street as data. It runs north along x = 0, straight, with a side street about every 95 m; it
// has no end: any stretch of it can be built from the seed alone.
#pragma once

#include <cstdint>
#include <vector>

#include "ria/simulate.h"
#include "simulate/noise.h"

namespace ria::sim {

// Metres from the middle of the road.
constexpr float kLaneEdge = 3.5f;  ///< the line between traffic and parked cars
constexpr float kKerb = 5.8f;      ///< where the pavement starts
constexpr float kFacade = 9.3f;    ///< the foremost house fronts
constexpr float kKerbHeight = 0.13f;
constexpr float kView = 330;         ///< how far the world is built around the camera
constexpr float kSideStreet = 5.0f;  ///< half the width of a side street

enum class Wall { kBrick, kPlaster, kConcrete, kGlass };

/// How a house looks. Lengths in metres.
struct Building {
  std::uint32_t id = 0;
  Wall wall = Wall::kPlaster;
  Vec3 wall_colour, base_colour, trim_colour, frame_colour, door_colour, sign_colour, ink_colour;
  float height = 10;
  float ground_height = 3.6f;
  float floor_height = 3;
  float cell = 2.6f;  ///< from window to window
  float window_width = 1.2f, window_height = 1.5f, sill = 0.9f;
  int mullions = 1;
  bool shop = false, arches = false, courses = false, pilasters = false, shutters = false;
  float lit = 0.25f;  ///< share of windows with light at night
};

enum class Kind : std::uint8_t {
  kHouse,
  kRoof,
  kPavement,
  kPlain,  ///< one colour, a little dirt
  kBoard,  ///< a sign with letters
  kHedge,
  kTrunk,
  kCarBody,
  kCarCabin,
  kLampHead,
  kRailing,
};

/// A box whose top may be smaller than its base: walls, roofs, cars, posts, balconies.
struct Solid {
  float x0, x1, y0, y1, z0, z1;
  float inset_x = 0, inset_y = 0;  ///< metres the top is smaller on each side
  Kind kind = Kind::kPlain;
  int building = -1;  ///< index in Street::buildings
  Vec3 colour;
  std::uint32_t id = 0;
};

/// A part of a tree's crown: an ellipsoid with holes.
struct Blob {
  float x, y, z;
  float radius, radius_z;
  Vec3 colour;
  float density = 1;  ///< 1: full of leaves, 0: bare
  std::uint32_t id = 0;
};

struct Lamp {
  float x = 0, y = 0, z = 0;
  Vec3 colour;
};

/// What is known for every metre of the street, for light and ground.
struct Metre {
  float height[2] = {0, 0};       ///< of the houses on the west and east side
  float crossing = 1e6f;          ///< y of the middle of the nearest side street
  bool open[2] = {false, false};  ///< that side street opens to the west, to the east
};

class Street {
 public:
  /// The stretch seen from `north`, with the parked cars and leaves of `condition`.
  Street(float north, Condition condition, std::uint64_t seed);

  std::vector<Building> buildings;
  std::vector<Solid> solids;
  std::vector<Blob> blobs;
  std::uint64_t seed = 0;

  const Metre& metre(float y) const;
  /// Height of the houses of a side, interpolated so that shadows have soft edges.
  float house_height(int side, float y) const;
  /// The lamps near y: five of them, in order.
  const Lamp* lamps_near(float y) const;
  const std::vector<Lamp>& lamps() const { return lamps_; }
  /// Share of the light that cars and trees leave on the ground, 0 to 1.
  float ground_light(float x, float y) const;

 private:
  void add_block(int block, Condition condition);
  void add_side(int block, int side, float begin, float end, Condition condition);
  void add_lot(int side, float begin, float end, Dice& dice, Condition condition);
  void add_house(int side, float begin, float end, float block_floors, Dice& dice);
  void add_roof(const Solid& wall, const Building& look, Dice& dice);
  void add_front(int side, float front, float begin, float end, int building, Dice& dice);
  void add_background(int side, float begin, float end, Dice& dice);
  void add_closing(int block, int side, float y);
  void add_trees(int side, float begin, float end, Dice& dice, Condition condition);
  void add_tree(float x, float y, Dice& dice, Condition condition);
  void add_cars(int block, int side, float begin, float end, Condition condition);
  void add_car(float x, float y, Dice& dice, Condition condition);
  void add_lamps();
  void add_furniture(int side, float begin, float end, Dice& dice);
  void darken(float x, float y, float radius_x, float radius_y, float strength);
  float boundary(int block) const;
  bool opens(int block, int side) const;

  int first_metre_ = 0;
  std::vector<Metre> metres_;
  int first_lamp_ = 0;
  std::vector<Lamp> lamps_;
  std::vector<float> ground_light_;
};

/// The look of a house, from its own dice.
Building make_building(Dice& dice, float block_floors);

}  // namespace ria::sim
