// SPDX-License-Identifier: MIT
// Where the two drives stop for a picture, and the file names that say so.
#pragma once

#include <string>

#include "ria/simulate.h"

namespace ria::sim {

// The street's origin in UTM zone 32U: on the central meridian, so north is grid north.
constexpr double kBaseEast = 500000, kBaseNorth = 5400000;  ///< metres
constexpr double kLane = 1.75;  ///< metres east of the road's middle: the database's lane

/// The pose of a picture, on whole centimetres and hundredths of a degree: what a name can hold.
CameraPose database_pose(int place, const SimulateOptions& options);
CameraPose query_pose(int place, const SimulateOptions& options);

/// `@east@north@zone@letter@lat@lon@pano@tile@heading@pitch@roll@height@timestamp@note@.jpg`;
/// the note holds the condition and the heading with its decimals.
std::string picture_name(const CameraPose& pose, int place, Condition condition);

}  // namespace ria::sim
