// SPDX-License-Identifier: MIT
// Blocks, houses and what is known of every metre; the smaller things are in street_objects.cc.
#include "simulate/street.h"

#include <algorithm>

namespace ria::sim {
namespace {

constexpr float kBlock = 95;  // metres from side street to side street, on average
constexpr int kMargin = 120;  // metres of table beyond the view: shadows and blocks reach over it

// Salts that keep the random numbers of different things apart.
constexpr std::uint64_t kBoundarySalt = 11, kOpenSalt = 12, kHouseSalt = 13, kTreeSalt = 14,
                        kClosingSalt = 15;

int direction(int side) { return side == 0 ? -1 : 1; }

}  // namespace

Street::Street(float north, Condition condition, std::uint64_t seed_in) : seed(seed_in) {
  first_metre_ = floor_int(north - kView) - kMargin;
  metres_.resize(static_cast<std::size_t>(2 * (kView + kMargin)) + 2);
  const int first = floor_int((north - kView) / kBlock) - 1;
  const int last = floor_int((north + kView) / kBlock) + 1;
  ground_light_.assign(metres_.size() * 4 * 128, 1.0f);
  for (int block = first; block <= last; ++block) add_block(block, condition);
  add_lamps();
}

float Street::boundary(int block) const {
  const float jitter = unit(static_cast<std::uint32_t>(hash(seed, kBoundarySalt, block)));
  return kBlock * (static_cast<float>(block) + 0.3f * (jitter - 0.5f));
}

bool Street::opens(int block, int side) const {
  return unit(static_cast<std::uint32_t>(hash(seed, kOpenSalt + 100 * side, block))) < 0.7f;
}

const Metre& Street::metre(float y) const {
  const int at = floor_int(y) - first_metre_;
  return metres_[std::clamp(at, 0, static_cast<int>(metres_.size()) - 1)];
}

float Street::house_height(int side, float y) const {
  const float a = metre(y - 0.5f).height[side], b = metre(y + 0.5f).height[side];
  return mix(a, b, fract(y - 0.5f));
}

void Street::add_block(int block, Condition condition) {
  const float begin = boundary(block), end = boundary(block + 1), middle = (begin + end) / 2;
  for (float y = begin; y < end; y += 1) {
    const bool lower = y < middle;
    const int at = floor_int(y) - first_metre_;
    if (at < 0 || at >= static_cast<int>(metres_.size())) continue;
    metres_[at].crossing = lower ? begin : end;
    for (int side = 0; side < 2; ++side)
      metres_[at].open[side] = opens(lower ? block : block + 1, side);
  }
  for (int side = 0; side < 2; ++side) {
    if (opens(block, side)) add_closing(block, side, begin);
    const float from = begin + (opens(block, side) ? kSideStreet : 0);
    const float to = end - (opens(block + 1, side) ? kSideStreet : 0);
    add_side(block, side, from, to, condition);
  }
}

void Street::add_side(int block, int side, float begin, float end, Condition condition) {
  Dice dice(hash(seed, kHouseSalt + 100 * side, block));
  const float sign = direction(side);
  const float inner = sign * kKerb, outer = sign * (kFacade + 6);
  solids.push_back(
      {.x0 = std::min(inner, outer),
       .x1 = std::max(inner, outer),
       .y0 = begin,
       .y1 = end,
       .z0 = 0,
       .z1 = kKerbHeight,
       .kind = Kind::kPavement,
       .colour = mix(Vec3{0.25f, 0.24f, 0.22f}, Vec3{0.34f, 0.30f, 0.27f}, dice.next()),
       .id = dice.bits()});
  const float block_floors = dice.range(2.5f, 5.5f);
  for (float y = begin + (opens(block, side) ? 1.5f : 0); y < end - 1;) {
    const float room = end - y;
    float width = dice.range(7, 19);
    if (room - width < 7) width = room - (opens(block + 1, side) ? 1.5f : 0);
    if (dice.chance(0.07f) && width < 16)
      add_lot(side, y, y + width, dice, condition);
    else
      add_house(side, y, y + width, block_floors, dice);
    y += room - width < 7 ? room : width;
  }
  add_background(side, begin, end, dice);
  add_furniture(side, begin, end, dice);
  Dice tree_dice(hash(seed, kTreeSalt + 100 * side, block));
  add_trees(side, begin, end, tree_dice, condition);
  add_cars(block, side, begin, end, condition);
}

void Street::add_house(int side, float begin, float end, float block_floors, Dice& dice) {
  Building look = make_building(dice, block_floors);
  const float setback = dice.chance(0.3f) ? dice.range(0.4f, 2.5f) : 0;
  const float front = direction(side) * (kFacade + setback);
  const float back = front + direction(side) * dice.range(10, 15);
  Solid wall{.x0 = std::min(front, back),
             .x1 = std::max(front, back),
             .y0 = begin,
             .y1 = end,
             .z0 = 0,
             .z1 = look.height,
             .kind = Kind::kHouse,
             .building = static_cast<int>(buildings.size()),
             .colour = look.wall_colour,
             .id = look.id};
  solids.push_back(wall);
  for (float y = begin; y < end; y += 1) {
    const int at = floor_int(y) - first_metre_;
    if (at >= 0 && at < static_cast<int>(metres_.size())) metres_[at].height[side] = look.height;
  }
  add_roof(wall, look, dice);
  buildings.push_back(look);
  add_front(side, front, begin, end, wall.building, dice);
}

void Street::add_roof(const Solid& wall, const Building& look, Dice& dice) {
  if (look.wall != Wall::kGlass && dice.chance(0.6f)) {  // a pitched roof with a little overhang
    const float pitch = dice.range(0.5f, 1.1f), half = (wall.x1 - wall.x0) / 2 + 0.3f;
    Solid roof = wall;
    roof.x0 -= 0.3f, roof.x1 += 0.3f;
    roof.z0 = look.height, roof.z1 = look.height + pitch * half * 0.8f;
    roof.inset_x = half * 0.8f;
    roof.inset_y = dice.chance(0.4f) ? roof.inset_x * 0.5f : 0;
    if (2 * roof.inset_y > wall.y1 - wall.y0) roof.inset_y = 0;
    roof.kind = Kind::kRoof;
    roof.building = -1;
    roof.colour = dice.chance(0.6f) ? Vec3{0.26f, 0.09f, 0.05f} : Vec3{0.07f, 0.075f, 0.09f};
    roof.id = dice.bits();
    solids.push_back(roof);
  } else if (look.wall != Wall::kGlass) {  // a cornice that throws the roof line forward
    Solid cornice = wall;
    cornice.x0 -= 0.35f, cornice.x1 += 0.35f;
    cornice.z0 = look.height - 0.35f, cornice.z1 = look.height + 0.15f;
    cornice.kind = Kind::kPlain, cornice.building = -1;
    cornice.colour = look.trim_colour, cornice.id = dice.bits();
    solids.push_back(cornice);
  }
  const int chimneys = dice.pick(4);
  for (int i = 0; i < chimneys; ++i) {
    const float x = mix(wall.x0, wall.x1, dice.range(0.25f, 0.75f)),
                y = dice.range(wall.y0, wall.y1 - 1);
    const float top = look.height + dice.range(2, 6);
    solids.push_back({x,
                      x + 0.7f,
                      y,
                      y + 1,
                      look.height,
                      top,
                      0,
                      0,
                      Kind::kPlain,
                      -1,
                      {0.2f, 0.1f, 0.07f},
                      dice.bits()});
  }
}

void Street::add_front(int side, float front, float begin, float end, int building, Dice& dice) {
  const Building look = buildings[building];
  const float sign = direction(side);
  const auto add =
      [&](float depth, float y0, float y1, float z0, float z1, Kind kind, Vec3 colour) {
        const float x = front + sign * -depth;
        solids.push_back({std::min(front, x),
                          std::max(front, x),
                          y0,
                          y1,
                          z0,
                          z1,
                          0,
                          0,
                          kind,
                          -1,
                          colour,
                          dice.bits()});
      };
  // Windows sit on the grid that material.cc draws: balconies follow it.
  const float length = end - begin;
  const int cells = std::max(1, static_cast<int>((length - 0.8f) / look.cell));
  const float cell = (length - 0.8f) / static_cast<float>(cells);
  const int floors = static_cast<int>((look.height - look.ground_height) / look.floor_height);
  if (look.wall != Wall::kGlass && dice.chance(0.35f)) {
    const int step = 1 + dice.pick(3), start = dice.pick(step);
    for (int floor = 0; floor < std::min(floors, 5); ++floor)
      for (int i = start; i < cells; i += step) {
        const float y = begin + 0.4f + (static_cast<float>(i) + 0.5f) * cell;
        const float z = look.ground_height + static_cast<float>(floor) * look.floor_height;
        const float half = std::min(look.window_width / 2 + 0.35f, cell / 2);
        add(1.0f, y - half, y + half, z + 0.02f, z + 0.2f, Kind::kPlain, look.trim_colour);
        add(1.0f, y - half, y + half, z + 0.2f, z + 1.1f, Kind::kRailing, look.frame_colour);
      }
  }
  if (look.shop && dice.chance(0.55f)) {  // an awning: a slab that leans out of the front
    const float from = begin + dice.range(0.3f, length * 0.3f),
                to = end - dice.range(0.3f, length * 0.3f);
    const float z = look.ground_height - 0.9f;
    add(1.3f, from, to, z - 0.35f, z, Kind::kBoard, look.sign_colour);
  }
  if (dice.chance(look.shop ? 0.5f : 0.15f)) {  // a sign that sticks out over the pavement
    const float y = dice.range(begin + 0.5f, end - 0.5f), z = look.ground_height + dice.range(0, 1);
    Dice colours(hash(look.id, 3));
    add(dice.range(0.7f, 1.2f),
        y,
        y + 0.15f,
        z,
        z + dice.range(0.6f, 2.2f),
        Kind::kBoard,
        {colours.next() * 0.6f, colours.next() * 0.5f, colours.next() * 0.6f});
  }
  if (dice.chance(0.3f)) {  // a drain pipe where two houses meet
    add(0.12f, begin, begin + 0.12f, 0.2f, look.height, Kind::kPlain, {0.12f, 0.12f, 0.12f});
  }
}

void Street::add_background(int side, float begin, float end, Dice& dice) {
  // Houses of the parallel street: they close the gaps and side streets and rise over low fronts.
  for (int row = 0; row < 2; ++row) {
    for (float y = begin + 1.5f; y < end - 6;) {
      const float width = std::min(dice.range(14, 30), end - 1.5f - y);
      Building look = make_building(dice, dice.chance(0.2f) ? 8.0f : 4.0f);
      look.shop = false;
      const float near = direction(side) * (kFacade + 17 + 24 * static_cast<float>(row));
      const float far = near + direction(side) * 16;
      solids.push_back({std::min(near, far),
                        std::max(near, far),
                        y,
                        y + width,
                        0,
                        look.height,
                        0,
                        0,
                        Kind::kHouse,
                        static_cast<int>(buildings.size()),
                        look.wall_colour,
                        look.id});
      buildings.push_back(look);
      y += width + (dice.chance(0.3f) ? 4.0f : 0.0f);
    }
  }
}

/// A house across the far end of a side street: without it one would look at an empty plain.
void Street::add_closing(int block, int side, float y) {
  Dice dice(hash(seed, kClosingSalt + 100 * side, block));
  const Building look = make_building(dice, 5);
  const float near = direction(side) * (kFacade + dice.range(60, 110)),
              far = near + direction(side) * 14;
  const float shift = dice.range(-6, 6);
  solids.push_back({std::min(near, far),
                    std::max(near, far),
                    y + shift - 25,
                    y + shift + 25,
                    0,
                    look.height,
                    0,
                    0,
                    Kind::kHouse,
                    static_cast<int>(buildings.size()),
                    look.wall_colour,
                    look.id});
  buildings.push_back(look);
}

Building make_building(Dice& dice, float block_floors) {
  static constexpr Vec3 kPlaster[] = {{0.62f, 0.55f, 0.42f},
                                      {0.60f, 0.42f, 0.25f},
                                      {0.66f, 0.63f, 0.58f},
                                      {0.42f, 0.47f, 0.50f},
                                      {0.55f, 0.33f, 0.26f},
                                      {0.40f, 0.46f, 0.34f},
                                      {0.63f, 0.52f, 0.22f},
                                      {0.30f, 0.36f, 0.46f},
                                      {0.50f, 0.28f, 0.30f},
                                      {0.70f, 0.68f, 0.66f}};
  static constexpr Vec3 kBrick[] = {{0.32f, 0.11f, 0.07f},
                                    {0.24f, 0.10f, 0.07f},
                                    {0.38f, 0.20f, 0.11f},
                                    {0.42f, 0.33f, 0.20f},
                                    {0.18f, 0.12f, 0.10f}};
  Building b;
  b.id = dice.bits();
  const float roll = dice.next();
  b.wall = roll < 0.34f   ? Wall::kBrick
           : roll < 0.74f ? Wall::kPlaster
           : roll < 0.88f ? Wall::kConcrete
                          : Wall::kGlass;
  b.wall_colour = b.wall == Wall::kBrick     ? kBrick[dice.pick(5)]
                  : b.wall == Wall::kPlaster ? kPlaster[dice.pick(10)]
                  : b.wall == Wall::kGlass   ? Vec3{0.10f, 0.13f, 0.15f}
                                             : Vec3{0.36f, 0.35f, 0.33f};
  b.wall_colour = b.wall_colour * dice.range(0.75f, 1.15f);
  b.trim_colour = dice.chance(0.6f) ? Vec3{0.6f, 0.57f, 0.5f} : b.wall_colour * 0.6f;
  b.base_colour = dice.chance(0.5f) ? Vec3{0.25f, 0.24f, 0.23f} : b.wall_colour * 0.8f;
  b.frame_colour = dice.chance(0.55f)
                       ? Vec3{0.65f, 0.65f, 0.63f}
                       : Vec3{dice.range(0.03f, 0.2f), dice.range(0.04f, 0.15f), 0.06f};
  b.door_colour = {dice.range(0.03f, 0.35f), dice.range(0.03f, 0.2f), dice.range(0.02f, 0.2f)};
  b.sign_colour = {dice.range(0.02f, 0.6f), dice.range(0.02f, 0.4f), dice.range(0.02f, 0.45f)};
  b.ink_colour = luma(b.sign_colour) > 0.2f ? Vec3{0.03f, 0.03f, 0.04f} : Vec3{0.7f, 0.7f, 0.6f};
  const int floors = std::max(1, static_cast<int>(block_floors + dice.range(-2, 2.4f)));
  b.floor_height = dice.range(2.8f, 3.7f);
  b.ground_height = dice.range(3.3f, 4.5f);
  b.height = b.ground_height + b.floor_height * static_cast<float>(floors) + dice.range(0.4f, 1.2f);
  b.cell = dice.range(1.9f, 3.6f);
  b.window_width = b.cell * dice.range(0.38f, 0.62f);
  b.window_height = b.floor_height * dice.range(0.42f, 0.62f);
  b.sill = (b.floor_height - b.window_height) * dice.range(0.45f, 0.7f);
  if (b.wall == Wall::kGlass) {
    b.window_width = b.cell - 0.12f;
    b.window_height = b.floor_height - 0.5f;
    b.sill = 0.45f;
  } else if (b.wall == Wall::kConcrete && dice.chance(0.5f)) {
    b.window_width = b.cell - 0.1f;  // ribbon windows
  }
  b.mullions = dice.pick(3);
  b.shop = dice.chance(0.55f);
  b.arches = b.wall != Wall::kGlass && dice.chance(0.2f);
  b.courses = dice.chance(0.5f);
  b.pilasters = b.wall != Wall::kGlass && dice.chance(0.25f);
  b.shutters = b.wall == Wall::kPlaster && b.window_width < b.cell * 0.5f && dice.chance(0.35f);
  b.lit = dice.range(0.08f, 0.45f);
  return b;
}

}  // namespace ria::sim
