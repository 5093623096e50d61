// SPDX-License-Identifier: MIT
// Trees, cars, lamps and other things that stand on the street.
#include <algorithm>

#include "simulate/street.h"

namespace ria::sim {
namespace {

constexpr float kLampStep = 14;    // metres from a lamp to the next one, on the other side
constexpr float kCarSlot = 6.1f;   // metres of kerb a parked car takes
constexpr int kCellsAcross = 128;  // of the ground light map, 0.25 m each: 16 m to either side
constexpr std::uint64_t kCarSalt = 21, kLampSalt = 22;

}  // namespace

void Street::darken(float x, float y, float radius_x, float radius_y, float strength) {
  const auto cell = [](float v) { return floor_int(v * 4); };
  const int rows = static_cast<int>(metres_.size()) * 4;
  for (int j = cell(y - radius_y) - 4 * first_metre_; j <= cell(y + radius_y) - 4 * first_metre_;
       ++j)
    for (int i = cell(x - radius_x) + 64; i <= cell(x + radius_x) + 64; ++i) {
      if (i < 0 || i >= kCellsAcross || j < 0 || j >= rows) continue;
      const float dx = ((static_cast<float>(i) - 63.5f) / 4 - x) / radius_x;
      const float dy =
          ((static_cast<float>(j) + 0.5f) / 4 + static_cast<float>(first_metre_) - y) / radius_y;
      // A rounded square with a soft rim, good for both cars and crowns.
      const float r = dx * dx * dx * dx + dy * dy * dy * dy;
      ground_light_[static_cast<std::size_t>(j) * kCellsAcross + i] *=
          1 - strength * smooth(1, 0.35f, r);
    }
}

float Street::ground_light(float x, float y) const {
  const float u = x * 4 + 63.5f, v = (y - static_cast<float>(first_metre_)) * 4 - 0.5f;
  const int i = floor_int(u), j = floor_int(v);
  if (i < 0 || i + 1 >= kCellsAcross || j < 0 || j + 1 >= static_cast<int>(metres_.size()) * 4)
    return 1;
  const float* row = ground_light_.data() + static_cast<std::size_t>(j) * kCellsAcross + i;
  const float a = u - static_cast<float>(i), b = v - static_cast<float>(j);
  return mix(mix(row[0], row[1], a), mix(row[kCellsAcross], row[kCellsAcross + 1], a), b);
}

void Street::add_trees(int side, float begin, float end, Dice& dice, Condition condition) {
  const bool planted = dice.chance(0.55f);
  const float step = dice.range(9, 16);
  for (float y = begin + dice.range(3, 9); y < end - 3; y += step) {
    Dice own(hash(seed, dice.bits(), 1));
    if (!planted && !own.chance(0.12f)) continue;
    if (own.chance(0.15f)) continue;  // one that died
    add_tree((side == 0 ? -1.0f : 1.0f) * (kKerb + 0.9f), y + own.range(-1, 1), own, condition);
  }
}

void Street::add_tree(float x, float y, Dice& dice, Condition condition) {
  static constexpr Vec3 kSummer[] = {
      {0.07f, 0.17f, 0.03f}, {0.10f, 0.20f, 0.05f}, {0.04f, 0.11f, 0.03f}};
  static constexpr Vec3 kAutumn[] = {
      {0.42f, 0.17f, 0.03f}, {0.45f, 0.28f, 0.05f}, {0.28f, 0.07f, 0.03f}};
  const float trunk = dice.range(0.11f, 0.22f), stem = dice.range(2.2f, 3.4f);
  const float crown = dice.range(1.3f, 2.3f), tall = dice.range(0.9f, 1.6f);
  const int species = dice.pick(3);
  const bool bare = dice.chance(0.6f);  // drawn always, so that the summer tree has the same shape
  const bool winter = condition == Condition::kSeason;
  solids.push_back({x - trunk,
                    x + trunk,
                    y - trunk,
                    y + trunk,
                    0,
                    stem + crown * tall,
                    trunk * 0.4f,
                    trunk * 0.4f,
                    Kind::kTrunk,
                    -1,
                    {0.09f, 0.07f, 0.05f},
                    dice.bits()});
  const Vec3 leaf = (winter ? kAutumn : kSummer)[species] * dice.range(0.8f, 1.25f);
  const int parts = 8 + dice.pick(4);
  for (int i = 0; i < parts; ++i) {
    const float r = crown * dice.range(0.5f, 0.85f), out = crown * dice.range(0.1f, 0.8f);
    const Vec3 away = normalize({dice.range(-1, 1), dice.range(-1, 1), 0.01f});
    const float z =
        stem + crown * tall * (0.35f + 1.3f * static_cast<float>(i) / static_cast<float>(parts));
    const bool limb = winter && bare;
    blobs.push_back({.x = x + away.x * out * (i + 1 == parts ? 0.2f : 1),
                     .y = y + away.y * out * (i + 1 == parts ? 0.2f : 1),
                     .z = z,
                     .radius = r,
                     .radius_z = r * tall * 0.8f,
                     .colour = (limb ? Vec3{0.10f, 0.08f, 0.065f} : leaf) * dice.range(0.8f, 1.2f),
                     .density = limb     ? 0.0f
                                : winter ? 0.65f
                                         : 1.0f,
                     .id = dice.bits()});
  }
  darken(x, y, crown * 1.3f, crown * 1.3f, winter && bare ? 0.12f : 0.5f);
}

void Street::add_cars(int block, int side, float begin, float end, Condition condition) {
  // Other cars are parked on another drive: the condition is part of their salt.
  const std::uint64_t salt = kCarSalt + 10 * static_cast<std::uint64_t>(condition) + 1000 * side;
  Dice block_dice(hash(seed, salt, block));
  const float busy = block_dice.range(0.2f, 0.75f);
  int slot = 0;
  for (float y = begin + 7; y < end - 7; y += kCarSlot, ++slot) {
    Dice dice(hash(seed, salt + 1, hash(block, slot)));
    if (!dice.chance(busy)) continue;
    add_car((side == 0 ? -1.0f : 1.0f) * (4.75f + dice.range(-0.12f, 0.12f)),
            y + dice.range(-0.5f, 0.5f),
            dice,
            condition);
  }
}

void Street::add_car(float x, float y, Dice& dice, Condition condition) {
  static constexpr Vec3 kPaint[] = {{0.55f, 0.55f, 0.55f},
                                    {0.03f, 0.03f, 0.035f},
                                    {0.28f, 0.29f, 0.30f},
                                    {0.40f, 0.03f, 0.03f},
                                    {0.04f, 0.10f, 0.30f},
                                    {0.70f, 0.70f, 0.68f},
                                    {0.10f, 0.22f, 0.12f},
                                    {0.45f, 0.36f, 0.08f}};
  const bool van = dice.chance(0.14f);
  const Vec3 paint = kPaint[dice.pick(8)];
  const float length = van ? 5.0f : dice.range(3.8f, 4.6f), half = van ? 0.96f : 0.88f;
  const float y0 = y - length / 2, y1 = y + length / 2,
              belt = van ? 1.05f : dice.range(0.82f, 0.95f);
  const float top = van ? dice.range(1.95f, 2.3f) : dice.range(1.40f, 1.62f);
  const std::uint32_t id = dice.bits();
  solids.push_back(
      {x - half, x + half, y0, y1, 0.2f, belt, 0.06f, 0.10f, Kind::kCarBody, -1, paint, id});
  solids.push_back({x - half + 0.1f,
                    x + half - 0.1f,
                    y0 + 0.1f,
                    y1 - 0.1f,
                    0.0f,
                    0.2f,
                    0,
                    0,
                    Kind::kPlain,
                    -1,
                    {0.01f, 0.01f, 0.01f},
                    id + 1});
  // The street drives on the right: noses point north on the east side.
  const float bonnet = van ? 0.5f : 1.05f, boot = van ? 0.05f : dice.range(0.15f, 0.8f);
  const bool north = x > 0;
  solids.push_back({x - half + 0.06f,
                    x + half - 0.06f,
                    y0 + (north ? boot : bonnet),
                    y1 - (north ? bonnet : boot),
                    belt,
                    top,
                    0.16f,
                    van ? 0.25f : 0.5f,
                    Kind::kCarCabin,
                    -1,
                    paint,
                    id + 2});
  darken(x, y, half + 0.35f, length / 2 + 0.35f, condition == Condition::kDay ? 0.75f : 0.55f);
}

void Street::add_lamps() {
  const float begin = static_cast<float>(first_metre_),
              end = begin + static_cast<float>(metres_.size());
  first_lamp_ = floor_int(begin / kLampStep);
  for (int k = first_lamp_; static_cast<float>(k) * kLampStep < end; ++k) {
    Dice dice(hash(seed, kLampSalt, k));
    const float sign = (k & 1) != 0 ? 1.0f : -1.0f;
    float y = (static_cast<float>(k) + dice.range(-0.15f, 0.15f)) * kLampStep;
    const Metre& here = metre(y);
    if (here.open[sign > 0] && std::abs(y - here.crossing) < kSideStreet + 0.5f)
      y = here.crossing + (y > here.crossing ? 1 : -1) * (kSideStreet + 0.6f);
    const float x = sign * (kKerb + 0.45f), z = 6.4f;
    const Vec3 warm = mix(Vec3{1.0f, 0.62f, 0.28f}, Vec3{0.95f, 0.88f, 0.72f}, dice.next());
    lamps_.push_back(
        {x - sign * 1.5f, y, z, warm * (dice.chance(0.08f) ? 0.0f : dice.range(0.7f, 1.2f))});
    const Vec3 steel{0.10f, 0.11f, 0.11f};
    solids.push_back({x - 0.08f,
                      x + 0.08f,
                      y - 0.08f,
                      y + 0.08f,
                      0,
                      z + 0.15f,
                      0.03f,
                      0.03f,
                      Kind::kPlain,
                      -1,
                      steel,
                      dice.bits()});
    const float tip = x - sign * 1.7f;
    solids.push_back({std::min(x, tip),
                      std::max(x, tip),
                      y - 0.04f,
                      y + 0.04f,
                      z + 0.08f,
                      z + 0.16f,
                      0,
                      0,
                      Kind::kPlain,
                      -1,
                      steel,
                      dice.bits()});
    solids.push_back({lamps_.back().x - 0.35f,
                      lamps_.back().x + 0.35f,
                      y - 0.13f,
                      y + 0.13f,
                      z - 0.06f,
                      z + 0.1f,
                      0,
                      0,
                      Kind::kLampHead,
                      -1,
                      lamps_.back().colour,
                      dice.bits()});
  }
}

const Lamp* Street::lamps_near(float y) const {
  const int k = floor_int(y / kLampStep + 0.5f) - 2 - first_lamp_;
  return lamps_.data() + std::clamp(k, 0, static_cast<int>(lamps_.size()) - 5);
}

void Street::add_lot(int side, float begin, float end, Dice& dice, Condition condition) {
  const float sign = side == 0 ? -1.0f : 1.0f;
  const float x = sign * (kFacade + 0.2f), deep = x + sign * 0.7f;
  const float hedge = dice.range(0.7f, 1.8f);
  const float gate = dice.range(begin + 1, end - 2);
  for (const auto& [y0, y1] : {std::pair{begin + 0.1f, gate}, std::pair{gate + 1.4f, end - 0.1f}})
    solids.push_back({std::min(x, deep),
                      std::max(x, deep),
                      y0,
                      y1,
                      0,
                      hedge,
                      0.05f,
                      0,
                      Kind::kHedge,
                      -1,
                      {0.06f, 0.13f, 0.04f},
                      dice.bits()});
  const int trees = 1 + dice.pick(3);
  for (int i = 0; i < trees; ++i) {
    Dice own(hash(seed, dice.bits(), 2));
    add_tree(
        sign * (kFacade + dice.range(2.5f, 6)), dice.range(begin + 2, end - 2), own, condition);
  }
}

void Street::add_furniture(int side, float begin, float end, Dice& dice) {
  const float sign = side == 0 ? -1.0f : 1.0f;
  const auto post =
      [&](float x, float y, float half, float height, Kind kind, Vec3 colour, float z0) {
        solids.push_back({x - half,
                          x + half,
                          y - 0.06f,
                          y + 0.06f,
                          z0,
                          height,
                          0,
                          0,
                          kind,
                          -1,
                          colour,
                          dice.bits()});
      };
  const int signs = 1 + dice.pick(4);
  for (int i = 0; i < signs; ++i) {  // traffic signs and advertisements
    const float x = sign * (kKerb + 0.35f), y = dice.range(begin + 2, end - 2);
    const bool advert = dice.chance(0.25f);
    const Vec3 colour{dice.range(0.02f, 0.6f), dice.range(0.02f, 0.5f), dice.range(0.02f, 0.6f)};
    if (advert) {
      post(x + sign * 0.6f, y, 0.65f, 2.3f, Kind::kBoard, colour, 0.5f);
      post(x + sign * 0.6f, y, 0.08f, 0.5f, Kind::kPlain, {0.1f, 0.1f, 0.1f}, 0);
    } else {
      post(x, y, 0.03f, 2.2f, Kind::kPlain, {0.25f, 0.25f, 0.25f}, 0);
      post(x, y - 0.07f, 0.3f, 2.8f, Kind::kBoard, colour, 2.2f);
    }
  }
  const int boxes = dice.pick(3);
  for (int i = 0; i < boxes; ++i) {  // bins and switch boxes along the fronts
    const float x = sign * (kFacade - 0.4f), y = dice.range(begin + 2, end - 2);
    solids.push_back({x - 0.25f,
                      x + 0.25f,
                      y,
                      y + dice.range(0.4f, 1.2f),
                      0,
                      dice.range(0.8f, 1.3f),
                      0,
                      0,
                      Kind::kPlain,
                      -1,
                      {dice.range(0.05f, 0.3f), dice.range(0.1f, 0.3f), 0.1f},
                      dice.bits()});
  }
}

}  // namespace ria::sim
