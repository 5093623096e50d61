// SPDX-License-Identifier: MIT
// Places of pictures whose names hold their positions and headings.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "dataset/pictures.h"
#include "dataset/positives.h"
#include "places/places.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

/// Degrees, the ninth field of an @-name; nothing where it is empty or no number.
std::optional<double> parse_heading(const fs::path& file) {
  constexpr int kField = 9;
  const std::string name = file.filename().string();
  std::size_t begin = 0;
  for (int i = 0; i < kField; ++i) {
    begin = name.find('@', begin);
    if (begin == name.npos) return std::nullopt;
    ++begin;
  }
  const char* const end = name.data() + std::min(name.find('@', begin), name.size());
  double degrees = 0;
  const auto [stop, error] = std::from_chars(name.data() + begin, end, degrees);
  if (error != std::errc() || stop != end || !std::isfinite(degrees)) return std::nullopt;
  return degrees;
}

/// Degrees between two headings, 0 to 180.
double turn(double a, double b) { return std::abs(std::remainder(a - b, 360.0)); }

/// Groups pictures around the densest spots that are left.
class Grouping {
 public:
  Grouping(const std::vector<fs::path>& files, Positions positions, const PlaceOptions& options)
      : options_(options), positions_(std::move(positions)) {
    for (const fs::path& file : files) headings_.push_back(parse_heading(file));
    // A place's middle is within a radius of its first picture, and its pictures of the middle.
    const double reach = std::max(2 * options.place_radius, options.negative_distance);
    near_ = within(positions_, positions_, reach);
    place_of_.assign(files.size(), kNone);
  }

  void run(FoundPlaces& found) {
    for (const int seed : densest_first()) {
      if (place_of_[at(seed)] != kNone) continue;
      found.places.push_back(place_around(seed));
      for (const int picture : found.places.back()) {
        place_of_[at(picture)] = static_cast<int>(found.places.size()) - 1;
      }
    }
    for (std::size_t i = 0; i < near_.size(); ++i) {
      for (const int j : near_[i]) {
        const bool close =
            distance(*positions_[i], *positions_[at(j)]) < options_.negative_distance;
        if (close && place_of_[i] < place_of_[at(j)]) {
          found.conflicts.push_back({place_of_[i], place_of_[at(j)]});
        }
      }
    }
  }

 private:
  static constexpr int kNone = -1;
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static double distance(const Position& a, const Position& b) {
    return std::hypot(a[0] - b[0], a[1] - b[1]);
  }

  /// Each is within half of what two of one place may differ by.
  bool same_heading(int a, int b) const {
    const auto &first = headings_[at(a)], &second = headings_[at(b)];
    if (!first || !second) return !first && !second;
    return turn(*first, *second) <= options_.place_heading / 2;
  }

  /// Pictures of no place yet that look as `seed` does and lie within the radius of a point.
  std::vector<int> free_around(const Position& middle, int seed) const {
    std::vector<int> found;
    for (const int i : near_[at(seed)]) {
      if (place_of_[at(i)] == kNone && same_heading(seed, i) &&
          distance(middle, *positions_[at(i)]) <= options_.place_radius) {
        found.push_back(i);
      }
    }
    return found;
  }

  /// The mean of pictures within the radius of the seed is no further than that from it.
  std::vector<int> place_around(int seed) const {
    const std::vector<int> first = free_around(*positions_[at(seed)], seed);
    Position middle{0, 0};
    for (const int i : first) {
      for (int axis = 0; axis < 2; ++axis) middle[axis] += (*positions_[at(i)])[axis];
    }
    for (double& value : middle) value /= static_cast<double>(first.size());
    std::vector<int> place = free_around(middle, seed);
    // Rounding may leave the seed a hair outside of a circle it is on.
    if (std::find(place.begin(), place.end(), seed) == place.end()) place = first;
    return place;
  }

  std::vector<int> densest_first() const {
    std::vector<std::size_t> around(near_.size());
    for (std::size_t i = 0; i < near_.size(); ++i) {
      around[i] = free_around(*positions_[i], static_cast<int>(i)).size();
    }
    std::vector<int> order(near_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(
        order.begin(), order.end(), [&](int a, int b) { return around[at(a)] > around[at(b)]; });
    return order;
  }

  const PlaceOptions& options_;
  Positions positions_;
  std::vector<std::optional<double>> headings_;
  std::vector<std::vector<int>> near_;
  std::vector<int> place_of_;
};

}  // namespace

TrainingSet places_of_folder(const fs::path& folder, const PlaceOptions& options) {
  options.validate();
  TrainingSet set;
  set.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  FoundPlaces found;
  Positions positions;
  std::vector<fs::path> unplaced;
  for (const fs::path& file : listed_or_found(folder, true)) {
    const auto position = parse_position(file);
    (position ? found.files : unplaced).push_back(file);
    if (position) positions.push_back(position);
  }
  if (found.files.empty()) {
    throw std::runtime_error(fmt::format(
        "{}: no position in the name, '@east@north@...' was expected", unplaced.at(0).string()));
  }
  if (!unplaced.empty()) {
    set.remarks.push_back(fmt::format("{}: {} pictures have no position and are left out, {} first",
                                      folder.string(),
                                      unplaced.size(),
                                      unplaced[0].filename().string()));
  }
  Grouping(found.files, std::move(positions), options).run(found);
  const int least = least_pictures(options, 2);
  append_group(set, set.name, found, least);
  require_places(set, folder.string(), least);
  return set;
}

}  // namespace ria
