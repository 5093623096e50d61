// SPDX-License-Identifier: MIT
// A benchmark on disk: pictures of known places, queries, and which answers are right.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ria {

struct Dataset {
  std::string name;
  std::vector<std::filesystem::path> database;
  std::vector<std::filesystem::path> queries;
  std::vector<std::vector<int>> positives;  ///< per query, sorted database positions
  std::vector<std::optional<std::array<double, 2>>> database_positions;  ///< metres east, north
  std::vector<std::optional<std::array<double, 2>>> query_positions;
};

/// East and north in metres from an `@east@north@...` file name; nothing if it is not one.
std::optional<std::array<double, 2>> parse_position(const std::filesystem::path& file);

/// Positives are the database pictures at most positive_dist_threshold metres away.
Dataset load_at_named(const std::filesystem::path& database_folder,
                      const std::filesystem::path& queries_folder,
                      double positive_dist_threshold = 25);

/// {"queries": [..], "database": [..], "positives": [[..], ..]} with paths relative to the file.
Dataset load_ground_truth(const std::filesystem::path& json_file);

}  // namespace ria
