// SPDX-License-Identifier: MIT
// Places that never were.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ria/map.h"

namespace ria {

/// A unit vector that belongs to a number: whoever reads it knows what it has to be.
inline Descriptor made_up_descriptor(int number, int dim) {
  std::mt19937 engine(static_cast<unsigned>(number) + 1);
  Descriptor values(static_cast<std::size_t>(dim));
  double squares = 0;
  for (float& value : values) {
    value = static_cast<float>(static_cast<int>(engine() % 2001) - 1000);
    squares += static_cast<double>(value) * value;
  }
  for (float& value : values) value = static_cast<float>(value / std::sqrt(squares));
  return values;
}

/// Those of `count` numbers from `first` on.
inline Matrix made_up_descriptors(int first, int count, int dim) {
  Matrix rows(count, dim);
  for (int i = 0; i < count; ++i) {
    const Descriptor one = made_up_descriptor(first + i, dim);
    std::copy(one.begin(), one.end(), rows.row(i).begin());
  }
  return rows;
}

inline std::vector<Place> made_up_places(int first, int count) {
  std::vector<Place> places;
  for (int i = first; i < first + count; ++i) {
    Place place{"place " + std::to_string(i) + ", \"\xC3\xA9\".jpg"};
    place.stamp = 0.1 * i;
    if (i % 2 == 0) place.x = i, place.y = -i, place.utm_zone = 33, place.heading = i % 360;
    places.push_back(place);
  }
  return places;
}

inline std::vector<PackedLocalFeatures> made_up_locals(int first, int count) {
  std::vector<PackedLocalFeatures> locals;
  for (int i = first; i < first + count; ++i) {
    std::vector<std::uint8_t> bytes(12, static_cast<std::uint8_t>(i));  // halves: 3 rows of 2
    bytes[0] = static_cast<std::uint8_t>(i >> 8);
    locals.push_back({std::move(bytes), 2, 1, 3});
  }
  return locals;
}

inline MapHeader made_up_header(int dim) {
  return {"rootsift-ria", R"({"d":6})", "", "0.0.1", dim};
}

/// Places with the numbers 0, 1, ...
inline Map made_up_map(int count, int dim, Storage storage = Storage::kFloat) {
  Map map(made_up_header(dim), storage);
  map.add(made_up_descriptors(0, count, dim), made_up_places(0, count));
  return map;
}

}  // namespace ria
