// SPDX-License-Identifier: MIT
// A procedural street: two drives past the same places, with exact camera poses in the file names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/image.h"
#include "ria/recognizer.h"

namespace ria {

/// Light and season of a drive.
enum class Condition { kDay, kNight, kRain, kSeason };
RIA_API std::string to_string(Condition condition);
RIA_API Condition parse_condition(const std::string& name);

/// Two drives through a made-up street.
struct RIA_API SimulateOptions {
  int places = 100;             ///< pictures in each of the two drives
  double spacing = 10;          ///< metres between places
  double lateral_offset = 1.5;  ///< metres the second drive is moved sideways
  double heading_offset = 4;    ///< degrees the second drive looks aside, at most
  Condition database_condition = Condition::kDay;
  Condition query_condition = Condition::kNight;
  int height = 360;  ///< pixels
  int width = 480;
  std::uint64_t seed = 42;
  int num_threads = 0;  ///< 0: all cores
  ProgressCallback progress;
  std::stop_token stop;

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Where the camera stands: metres, degrees (0: along the street).
struct CameraPose {
  double east = 0;
  double north = 0;
  double height = 1.6;
  double heading = 0;
};

/// One picture of the street that this seed builds.
RIA_API Image render_street(
    const CameraPose& pose, Condition condition, int height, int width, std::uint64_t seed);

/// Writes folder/database and folder/queries with @-names and folder/simulate.json; both folders
/// are replaced whole. Returns the two folders.
struct SimulatedFolders {
  std::filesystem::path database;
  std::filesystem::path queries;
};
RIA_API SimulatedFolders simulate(const std::filesystem::path& folder,
                                  const SimulateOptions& options = {});

}  // namespace ria
