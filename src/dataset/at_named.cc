// SPDX-License-Identifier: MIT
// Pictures whose names hold their positions.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "dataset/forms.h"
#include "dataset/pictures.h"
#include "dataset/positives.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

Positions parse_positions(const std::vector<fs::path>& files) {
  Positions positions;
  for (const fs::path& file : files) positions.push_back(parse_position(file));
  return positions;
}

Positions require_positions(const std::vector<fs::path>& files) {
  Positions positions = parse_positions(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!positions[i]) {
      throw std::runtime_error(fmt::format(
          "{}: no position in the name, '@east@north@...' was expected", files[i].string()));
    }
  }
  return positions;
}

std::string queries_folder_name(const Loading& loading) {
  return loading.options.query_set.empty() ? "queries" : loading.options.query_set;
}

/// The folder, relative to the set's, that holds database and queries; nothing if there is none.
std::optional<std::string> pair_folder(const Loading& loading) {
  const std::string queries = queries_folder_name(loading);
  std::error_code ignored;
  for (const char* base : {"images/{split}", "processed/{split}", "{split}", ""}) {
    const std::string name = loading.fill(base);
    if (fs::is_directory(loading.folder / name / "database", ignored) &&
        fs::is_directory(loading.folder / name / queries, ignored)) {
      return name;
    }
  }
  return std::nullopt;
}

void load_pair(Loading& loading) {
  const fs::path folder = loading.folder / pair_folder(loading).value();
  Dataset& data = loading.dataset;
  data.database = listed_or_found(folder / "database", true);
  data.queries = listed_or_found(folder / queries_folder_name(loading), true);
  settle_positions(loading,
                   parse_positions(data.database),
                   parse_positions(data.queries),
                   loading.radius(loading.info.positive_dist_threshold));
}

}  // namespace

std::optional<Position> parse_position(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::size_t first = name.find('@');
  const std::size_t second = first == name.npos ? name.npos : name.find('@', first + 1);
  const std::size_t third = second == name.npos ? name.npos : name.find('@', second + 1);
  if (third == name.npos) return std::nullopt;
  const std::string_view view = name;
  const auto east = parse_number(view.substr(first + 1, second - first - 1));
  const auto north = parse_number(view.substr(second + 1, third - second - 1));
  if (!east || !north) return std::nullopt;
  return Position{*east, *north};
}

Dataset load_unlabelled(const fs::path& database_folder, const fs::path& queries_folder) {
  Dataset dataset;
  dataset.name = queries_folder.string() + " in " + database_folder.string();
  dataset.database = listed_or_found(database_folder, false);
  dataset.queries = listed_or_found(queries_folder, false);
  return dataset;
}

Dataset load_at_named(const fs::path& database_folder,
                      const fs::path& queries_folder,
                      double radius) {
  if (!(radius >= 0)) {
    throw std::invalid_argument(
        fmt::format("positive_dist_threshold is {}, metres from 0 up were expected", radius));
  }
  Dataset dataset = load_unlabelled(database_folder, queries_folder);
  dataset.database_positions = require_positions(dataset.database);
  dataset.query_positions = require_positions(dataset.queries);
  dataset.positives = within(dataset.query_positions, dataset.database_positions, radius);
  return dataset;
}

Form at_named_form() {
  return {
      "images/{split}/ (or processed/{split}/, {split}/, or here) with database/ and queries/ of "
      "@east@north@ names",
      [](const Loading& loading) -> std::vector<std::string> {
        if (pair_folder(loading)) return {};
        const std::string base = loading.fill("images/{split}/");
        return not_there(loading, {base + "database", base + queries_folder_name(loading)});
      },
      load_pair};
}

}  // namespace ria
