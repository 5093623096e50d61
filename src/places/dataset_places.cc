// SPDX-License-Identifier: MIT
// Places of a benchmark: queries and their positives, cut where positives go on and on.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "places/places.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

class Cutting {
 public:
  explicit Cutting(const Dataset& dataset) {
    for (const fs::path& file : dataset.database) database_.push_back(number(file));
    for (const fs::path& file : dataset.queries) queries_.push_back(number(file));
    for (std::size_t q = 0; q < queries_.size(); ++q) {
      std::vector<int>& list = positives_.emplace_back();
      if (!there_[at(queries_[q])]) continue;
      for (const int i : dataset.positives[q]) {
        const int picture = database_.at(at(i));
        if (there_[at(picture)] && picture != queries_[q]) list.push_back(picture);
      }
    }
    place_of_.assign(found_.files.size(), kNone);
  }

  FoundPlaces run() {
    for (std::size_t q = 0; q < queries_.size(); ++q) begin_place(q);
    for (std::size_t q = 0; q < queries_.size(); ++q) join_place(q);
    for (std::size_t q = 0; q < queries_.size(); ++q) note_conflicts(q);
    return std::move(found_);
  }

  int missing() const { return static_cast<int>(std::count(there_.begin(), there_.end(), false)); }
  const fs::path& first_missing() const {
    const auto it = std::find(there_.begin(), there_.end(), false);
    return found_.files[static_cast<std::size_t>(it - there_.begin())];
  }

 private:
  static constexpr int kNone = -1;
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// A picture that is query and database at once is one.
  int number(const fs::path& file) {
    const auto [it, added] = numbers_.try_emplace(file, static_cast<int>(found_.files.size()));
    if (added) {
      std::error_code ignored;
      found_.files.push_back(file);
      there_.push_back(fs::exists(file, ignored));
    }
    return it->second;
  }

  bool is_free(int picture) const { return place_of_[at(picture)] == kNone; }

  void take(int picture, int place) {
    place_of_[at(picture)] = place;
    found_.places[at(place)].push_back(picture);
  }

  void begin_place(std::size_t q) {
    const std::vector<int>& list = positives_[q];
    const bool all_free = is_free(queries_[q]) &&
                          std::all_of(list.begin(), list.end(), [&](int i) { return is_free(i); });
    if (list.empty() || !all_free) return;
    const int place = static_cast<int>(found_.places.size());
    found_.places.emplace_back();
    take(queries_[q], place);
    for (const int picture : list) {
      if (is_free(picture)) take(picture, place);
    }
  }

  /// How many positives of a query are in each place.
  std::map<int, std::size_t> counted(std::size_t q) const {
    std::map<int, std::size_t> counts;
    for (const int picture : positives_[q]) {
      if (!is_free(picture)) ++counts[place_of_[at(picture)]];
    }
    return counts;
  }

  void join_place(std::size_t q) {
    if (!is_free(queries_[q])) return;
    for (const auto& [place, count] : counted(q)) {
      if (2 * count > positives_[q].size()) return take(queries_[q], place);
    }
  }

  void note_conflicts(std::size_t q) {
    std::set<int> met;
    for (const auto& [place, count] : counted(q)) met.insert(place);
    if (!is_free(queries_[q])) met.insert(place_of_[at(queries_[q])]);
    for (auto a = met.begin(); a != met.end(); ++a) {
      for (auto b = std::next(a); b != met.end(); ++b) found_.conflicts.push_back({*a, *b});
    }
  }

  FoundPlaces found_;
  std::map<fs::path, int> numbers_;
  std::vector<bool> there_;  ///< by picture
  std::vector<int> database_, queries_;
  std::vector<std::vector<int>> positives_;  ///< of each query, pictures
  std::vector<int> place_of_;                ///< by picture
};

}  // namespace

TrainingSet places_of_dataset(const Dataset& dataset, const PlaceOptions& options) {
  options.validate();
  if (dataset.positives.size() != dataset.queries.size()) {
    throw std::invalid_argument(
        fmt::format("{}: {} queries with {} lists of positives, a set to train on has one for each",
                    dataset.name,
                    dataset.queries.size(),
                    dataset.positives.size()));
  }
  TrainingSet set;
  set.name = dataset.name;
  set.remarks = dataset.remarks;
  Cutting cutting(dataset);
  if (cutting.missing() > 0) {
    set.remarks.push_back(fmt::format("{}: {} pictures are missing and left out, the first is {}",
                                      dataset.name,
                                      cutting.missing(),
                                      cutting.first_missing().string()));
  }
  const int least = least_pictures(options, 2);
  append_group(set, set.name, cutting.run(), least);
  require_places(set, dataset.name, least);
  return set;
}

}  // namespace ria
