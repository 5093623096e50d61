// SPDX-License-Identifier: MIT
#include "simulate/drive.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "simulate/noise.h"

namespace ria::sim {
namespace {

constexpr std::uint64_t kDriveSalt = 41;
constexpr double kSlip = 1.9;  // metres along the street between a place and its query, at most

double hundredths(double v) { return std::round(v * 100) / 100; }

struct Geographic {
  double latitude, longitude;  // degrees
};

/// WGS84 footpoint latitude (Snyder 1987, eq. 3-26, 7-19); longitude to first order, which within
/// metres of the central meridian is exact to the digits printed.
Geographic to_geographic(double east, double north) {
  constexpr double kAxis = 6378137, kE2 = 0.00669437999014, kScale = 0.9996, kMeridian = 9;
  const double root = std::sqrt(1 - kE2), e1 = (1 - root) / (1 + root);
  const double mu =
      north / kScale / (kAxis * (1 - kE2 / 4 - 3 * kE2 * kE2 / 64 - 5 * kE2 * kE2 * kE2 / 256));
  const double latitude = mu + (3 * e1 / 2 - 27 * e1 * e1 * e1 / 32) * std::sin(2 * mu) +
                          (21 * e1 * e1 / 16) * std::sin(4 * mu) +
                          (151 * e1 * e1 * e1 / 96) * std::sin(6 * mu);
  const double sine = std::sin(latitude), radius = kAxis / std::sqrt(1 - kE2 * sine * sine);
  constexpr double kDegrees = 180 / std::numbers::pi;
  return {latitude * kDegrees,
          kMeridian + (east - 500000) / (radius * kScale * std::cos(latitude)) * kDegrees};
}

const char* timestamp(Condition condition) {
  switch (condition) {
    case Condition::kDay:
      return "20240612_130000";
    case Condition::kNight:
      return "20240914_223000";
    case Condition::kRain:
      return "20241018_160000";
    default:
      return "20241204_100000";
  }
}

}  // namespace

CameraPose database_pose(int place, const SimulateOptions& options) {
  CameraPose pose;
  pose.east = kLane;
  pose.north = hundredths(place * options.spacing);
  return pose;
}

CameraPose query_pose(int place, const SimulateOptions& options) {
  CameraPose pose = database_pose(place, options);
  Dice dice(hash(options.seed, kDriveSalt, static_cast<std::uint64_t>(place)));
  pose.east = hundredths(pose.east - options.lateral_offset);
  pose.north = hundredths(pose.north + kSlip * dice.range(-1, 1));
  // Towards zero, so that rounding never passes the limit.
  pose.heading = std::trunc(options.heading_offset * dice.range(-1, 1) * 100) / 100;
  return pose;
}

std::string picture_name(const CameraPose& pose, int place, Condition condition) {
  const double east = kBaseEast + pose.east, north = kBaseNorth + pose.north;
  const Geographic at = to_geographic(east, north);
  const double heading = pose.heading < 0 ? pose.heading + 360 : pose.heading;
  return fmt::format(
      "@{:010.2f}@{:010.2f}@32@U@{:09.5f}@{:010.5f}@ria{:06d}@00@{:03d}@0@0@{:.2f}@{}@{}_{:.2f}@."
      "jpg",
      east,
      north,
      at.latitude,
      at.longitude,
      place,
      static_cast<int>(std::lround(heading)) % 360,
      pose.height,
      timestamp(condition),
      to_string(condition),
      heading);
}

}  // namespace ria::sim
