// SPDX-License-Identifier: MIT
// Latitude and longitude, and the metres a map has.
#pragma once

#include <array>

#include "ria/map.h"

namespace ria {

/// Degrees, WGS84.
struct LatLon {
  double latitude = Place::kUnknown;
  double longitude = Place::kUnknown;
};

/// 1..60 north, -1..-60 south of the equator.
int utm_zone_of(const LatLon& at);
/// Easting and northing in metres, in this zone even where it is not its own. To a few millimetres
/// within some degrees of the zone.
std::array<double, 2> to_utm(const LatLon& at, int zone);
LatLon from_utm(double east, double north, int zone);

}  // namespace ria
