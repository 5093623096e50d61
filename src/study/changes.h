// SPDX-License-Identifier: MIT
// Changes of a picture at growing levels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ria/image.h"

namespace ria {

/// A change of a picture (or, by `feature_scale`, of its features) at one level.
struct Change {
  double level = 0;
  std::function<Image(const Image&, std::uint32_t seed)> apply;
  float feature_scale = 1;
};

/// A row of changes with growing level: one plot.
struct Ladder {
  std::string title, x_label;
  double unchanged = 0;  ///< the level at which nothing changes
  std::vector<Change> changes;
};

/// Pixels times 1 - level.
Ladder brightness_ladder();
/// Degrees about the middle; what comes in at the borders is mirrored.
Ladder rotation_ladder();
/// Each corner moves by up to the level's share of the sides, on its own.
Ladder homography_ladder();
/// Features multiplied by a factor: what the paper proves RIA invariant to.
Ladder scale_ladder();

}  // namespace ria
