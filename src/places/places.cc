// SPDX-License-Identifier: MIT
#include "places/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace ria {

void PlaceOptions::validate() const {
  const auto require = [](bool holds, const char* field, double value, const char* expected) {
    if (holds) return;
    throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  require(std::isfinite(place_radius) && place_radius > 0,
          "place_radius",
          place_radius,
          "metres above 0");
  require(place_heading > 0 && place_heading <= 360,
          "place_heading",
          place_heading,
          "degrees above 0 up to 360");
  require(std::isfinite(negative_distance) && negative_distance >= 0,
          "negative_distance",
          negative_distance,
          "metres from 0 up");
  require(min_pictures == 0 || min_pictures >= 2,
          "min_pictures",
          min_pictures,
          "0 (the source's own) or at least 2");
}

int least_pictures(const PlaceOptions& options, int own) {
  return options.min_pictures > 0 ? options.min_pictures : own;
}

int append_group(TrainingSet& set,
                 const std::string& group,
                 const FoundPlaces& found,
                 int min_pictures) {
  constexpr int kLeftOut = -1;
  std::vector<int> place_at(found.places.size(), kLeftOut);
  const std::size_t before = set.places.size();
  const int number = static_cast<int>(set.groups.size());
  for (std::size_t i = 0; i < found.places.size(); ++i) {
    if (std::ssize(found.places[i]) < min_pictures) continue;
    place_at[i] = static_cast<int>(set.places.size());
    TrainingSet::Place& place = set.places.emplace_back();
    place.group = number;
    for (const int file : found.places[i]) {
      place.pictures.push_back(static_cast<int>(set.pictures.size()));
      set.pictures.push_back(found.files[static_cast<std::size_t>(file)]);
    }
  }
  if (set.places.size() == before) return 0;
  set.groups.push_back(group);
  for (const auto& [first, second] : found.conflicts) {
    const int a = place_at[static_cast<std::size_t>(first)];
    const int b = place_at[static_cast<std::size_t>(second)];
    if (a == kLeftOut || b == kLeftOut || a == b) continue;
    set.places[static_cast<std::size_t>(a)].conflicts.push_back(b);
    set.places[static_cast<std::size_t>(b)].conflicts.push_back(a);
  }
  for (std::size_t i = before; i < set.places.size(); ++i) {
    std::vector<int>& list = set.places[i].conflicts;
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return static_cast<int>(set.places.size() - before);
}

void require_places(const TrainingSet& set, const std::string& source, int min_pictures) {
  if (!set.places.empty()) return;
  // Why, where a reader knows: pictures that are missing, for instance.
  throw std::runtime_error(fmt::format("{}: no place has {} pictures{}",
                                       source,
                                       min_pictures,
                                       set.remarks.empty() ? "" : "; " + set.remarks[0]));
}

TrainingSet joined(const std::vector<TrainingSet>& sets) {
  TrainingSet all;
  for (const TrainingSet& set : sets) {
    const int pictures = static_cast<int>(all.pictures.size());
    const int places = static_cast<int>(all.places.size());
    const int groups = static_cast<int>(all.groups.size());
    for (TrainingSet::Place place : set.places) {
      for (int& picture : place.pictures) picture += pictures;
      for (int& conflict : place.conflicts) conflict += places;
      place.group += groups;
      all.places.push_back(std::move(place));
    }
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.pictures, set.pictures);
    append(all.groups, set.groups);
    append(all.remarks, set.remarks);
    all.name += (all.name.empty() ? "" : " + ") + set.name;
  }
  return all;
}

}  // namespace ria
