// SPDX-License-Identifier: MIT
#include "ria/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ria/image.h"
#include "util/files.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using Position = std::array<double, 2>;

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::vector<std::optional<Position>> require_positions(const std::vector<fs::path>& files) {
  std::vector<std::optional<Position>> positions;
  for (const fs::path& file : files) {
    positions.push_back(parse_position(file));
    if (!positions.back()) {
      throw std::runtime_error(fmt::format(
          "{}: no position in the name, '@east@north@...' was expected", file.string()));
    }
  }
  return positions;
}

/// All pairs at most `radius` apart; the database is walked in order of its east coordinate, so
/// that a large map costs only its neighbourhood.
std::vector<std::vector<int>> within(const std::vector<std::optional<Position>>& queries,
                                     const std::vector<std::optional<Position>>& database,
                                     double radius) {
  std::vector<int> order(database.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto east = [&](int i) { return (*database[i])[0]; };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return east(a) < east(b); });
  std::vector<std::vector<int>> positives;
  for (const auto& query : queries) {
    const auto& [x, y] = *query;
    auto it = std::lower_bound(
        order.begin(), order.end(), x - radius, [&](int i, double v) { return east(i) < v; });
    std::vector<int> near;
    for (; it != order.end() && east(*it) <= x + radius; ++it) {
      if (std::hypot(east(*it) - x, (*database[*it])[1] - y) <= radius) near.push_back(*it);
    }
    std::sort(near.begin(), near.end());
    positives.push_back(std::move(near));
  }
  return positives;
}

std::vector<fs::path> read_paths(const nlohmann::json& list, const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : list) paths.push_back(folder / entry.get<std::string>());
  return paths;
}

Dataset parse_ground_truth(const nlohmann::json& json, const fs::path& file) {
  Dataset dataset;
  dataset.database = read_paths(json.at("database"), file.parent_path());
  dataset.queries = read_paths(json.at("queries"), file.parent_path());
  dataset.positives = json.at("positives").get<std::vector<std::vector<int>>>();
  dataset.name = file.parent_path().filename().string();
  if (file.stem() != "gt") dataset.name += "/" + file.stem().string();
  return dataset;
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

Dataset load_at_named(const fs::path& database_folder,
                      const fs::path& queries_folder,
                      double radius) {
  if (!(radius >= 0)) {
    throw std::invalid_argument(
        fmt::format("positive_dist_threshold is {}, metres from 0 up were expected", radius));
  }
  Dataset dataset;
  dataset.name = queries_folder.string() + " in " + database_folder.string();
  dataset.database = list_pictures(database_folder);
  dataset.queries = list_pictures(queries_folder);
  dataset.database_positions = require_positions(dataset.database);
  dataset.query_positions = require_positions(dataset.queries);
  dataset.positives = within(dataset.query_positions, dataset.database_positions, radius);
  return dataset;
}

Dataset load_ground_truth(const fs::path& file) {
  Dataset dataset;
  try {
    dataset = parse_ground_truth(nlohmann::json::parse(read_text(file)), fs::absolute(file));
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(
        fmt::format("{}: a JSON object with the lists queries, database and positives was expected",
                    file.string()));
  }
  if (dataset.queries.empty() || dataset.database.empty()) {
    throw std::runtime_error(fmt::format("{}: no pictures are listed", file.string()));
  }
  if (dataset.positives.size() != dataset.queries.size()) {
    throw std::runtime_error(fmt::format("{}: {} queries, {} lists of positives",
                                         file.string(),
                                         dataset.queries.size(),
                                         dataset.positives.size()));
  }
  for (std::vector<int>& positives : dataset.positives) {
    std::sort(positives.begin(), positives.end());
    if (!positives.empty() &&
        (positives[0] < 0 || positives.back() >= static_cast<int>(dataset.database.size()))) {
      throw std::runtime_error(fmt::format("{}: a positive points past the {} database pictures",
                                           file.string(),
                                           dataset.database.size()));
    }
  }
  return dataset;
}

}  // namespace ria
