// SPDX-License-Identifier: MIT
// GSV-Cities: a table of pictures a city, and file names made of a row's fields.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "archive/bytes.h"
#include "dataset/tables.h"
#include "places/places.h"
#include "util/nearest_name.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

using Columns = std::map<std::string, std::vector<std::string>>;

/// A whole number from 0 up; nothing if the text is none.
std::optional<int> whole(const std::string& text) {
  int value = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

/// The pictures of a city by what a row can say of them.
class CityPictures {
 public:
  explicit CityPictures(const fs::path& folder) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const fs::path& file = entry.path();
      const std::string ending = file.extension().string();
      if (ending != ".jpg" && ending != ".JPG" && ending != ".jpeg") continue;
      const std::string stem = file.stem().string();
      by_name_.emplace(stem, file);
      if (const auto key = panorama(stem)) by_panorama_.emplace(*key, file);
    }
  }

  bool empty() const { return by_name_.empty(); }

  /// The file of that name or, since coordinates may be printed otherwise there, that place's of
  /// the panorama; empty path: neither.
  fs::path find(const std::string& stem, int place, const std::string& panoid) const {
    if (const auto it = by_name_.find(stem); it != by_name_.end()) return it->second;
    const auto it = by_panorama_.find(fmt::format("{} {}", place, panoid));
    return it != by_panorama_.end() ? it->second : fs::path();
  }

 private:
  /// CITY_PLACE_YEAR_MONTH_NORTH_LAT_LON_PANOID; the last may hold more underscores.
  static std::optional<std::string> panorama(const std::string& stem) {
    std::vector<std::size_t> cuts;
    for (std::size_t i = stem.find('_'); i != stem.npos && cuts.size() < 7;
         i = stem.find('_', i + 1)) {
      cuts.push_back(i);
    }
    if (cuts.size() < 7) return std::nullopt;
    const auto place = whole(stem.substr(cuts[0] + 1, cuts[1] - cuts[0] - 1));
    if (!place) return std::nullopt;
    return fmt::format("{} {}", *place, stem.substr(cuts[6] + 1));
  }

  std::unordered_map<std::string, fs::path> by_name_, by_panorama_;
};

/// One city while it is read.
class City {
 public:
  City(const fs::path& folder, const std::string& name)
      : table_(folder / "Dataframes" / (name + ".csv")),
        pictures_(folder / "Images" / name),
        columns_(read_csv(table_)) {
    for (const char* title :
         {"place_id", "year", "month", "northdeg", "city_id", "lat", "lon", "panoid"}) {
      if (columns_.count(title) == 0) {
        throw read_error(table_,
                         fmt::format("no column {}; place_id, year, month, northdeg, city_id, lat, "
                                     "lon and panoid were expected",
                                     title));
      }
    }
  }

  /// Remarks go to the set.
  FoundPlaces places(TrainingSet& set) {
    const std::size_t rows = columns_.at("place_id").size();
    for (std::size_t row = 0; row < rows; ++row) read(row);
    FoundPlaces found;
    for (auto& [id, files] : by_place_) {
      std::vector<int>& place = found.places.emplace_back();
      for (const fs::path& file : files) {
        place.push_back(static_cast<int>(found.files.size()));
        found.files.push_back(file);
      }
    }
    if (odd_ > 0) {
      set.remarks.push_back(fmt::format(
          "{}: {} rows are odd and left out, the first is row {} ({})",
          table_.string(),
          odd_,
          first_odd_ + 1,
          printable(columns_.at("place_id")[first_odd_] + "," + columns_.at("city_id")[first_odd_] +
                    "," + columns_.at("panoid")[first_odd_])));
    }
    if (missing_ > 0) {
      set.remarks.push_back(fmt::format("{}: {} of {} pictures are missing, the first is {}",
                                        table_.string(),
                                        missing_,
                                        rows,
                                        first_missing_));
    }
    return found;
  }

  bool all_missing() const { return by_place_.empty() && missing_ > 0; }
  const fs::path& table() const { return table_; }

 private:
  const std::string& cell(const char* title, std::size_t row) const {
    return columns_.find(title)->second[row];
  }

  void read(std::size_t row) {
    const auto place = whole(cell("place_id", row)), year = whole(cell("year", row)),
               month = whole(cell("month", row)), north = whole(cell("northdeg", row));
    const std::string &city = cell("city_id", row), &panoid = cell("panoid", row);
    if (!place || !year || !month || !north || city.empty() || panoid.empty()) {
      if (odd_++ == 0) first_odd_ = row;
      return;
    }
    const std::string stem = fmt::format("{}_{:07}_{:04}_{:02}_{:03}_{}_{}_{}",
                                         city,
                                         *place,
                                         *year,
                                         *month,
                                         *north,
                                         cell("lat", row),
                                         cell("lon", row),
                                         panoid);
    const fs::path file = pictures_.find(stem, *place, panoid);
    if (file.empty()) {
      if (missing_++ == 0) first_missing_ = printable(stem + ".jpg");
      return;
    }
    std::vector<fs::path>& files = by_place_[*place];
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  }

  fs::path table_;
  CityPictures pictures_;
  Columns columns_;
  std::map<int, std::vector<fs::path>> by_place_;
  std::size_t odd_ = 0, first_odd_ = 0, missing_ = 0;
  std::string first_missing_;
};

std::vector<std::string> cities_in(const fs::path& folder) {
  const fs::path tables = folder / "Dataframes";
  if (!fs::is_directory(tables)) {
    throw std::runtime_error(
        fmt::format("{}: no folder Dataframes; GSV-Cities has Dataframes/CITY.csv and Images/CITY",
                    folder.string()));
  }
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(tables)) {
    if (entry.path().extension() == ".csv") names.push_back(entry.path().stem().string());
  }
  if (names.empty()) {
    throw std::runtime_error(fmt::format("{}: no CITY.csv is there", tables.string()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TrainingSet places_of_gsv_cities(const fs::path& folder,
                                 const std::vector<std::string>& cities,
                                 const PlaceOptions& options) {
  options.validate();
  const std::vector<std::string> known = cities_in(folder);
  for (const std::string& city : cities) {
    if (std::find(known.begin(), known.end(), city) == known.end()) {
      throw std::invalid_argument(unknown_name("city", city, known));
    }
    if (std::count(cities.begin(), cities.end(), city) > 1) {
      throw std::invalid_argument(fmt::format("city {} is named twice", city));
    }
  }
  TrainingSet set;
  set.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  const int least = least_pictures(options, 4);
  for (const std::string& name : cities.empty() ? known : cities) {
    City city(folder, name);
    const FoundPlaces found = city.places(set);
    if (city.all_missing() && !cities.empty()) {
      throw std::runtime_error(fmt::format("{}: none of its pictures is in {}",
                                           city.table().string(),
                                           (folder / "Images" / name).string()));
    }
    if (append_group(set, name, found, least) == 0) {
      set.remarks.push_back(fmt::format("{}: no place has {} pictures", name, least));
    }
  }
  require_places(set, folder.string(), least);
  return set;
}

}  // namespace ria
