// SPDX-License-Identifier: MIT
// How well a picture agrees with places, without what it has in common with places elsewhere.
#pragma once

#include <vector>

#include "loop/sighting.h"

namespace ria {

/// Agreements in which likeness counts by how far it sets a place apart.
struct Apart {
  std::vector<double> candidates;
  double passed = 0;  ///< the largest with what was passed a while ago
};

/// What is usual is the mean of the other runs, each as much as any other however long it is:
/// pictures of one run show the same, and nobody is compared with itself. runs[i] >= 0 is that of
/// candidate i; what was passed is one more. The candidate that is furthest apart keeps its
/// agreement; so do all where nothing is known cell by cell.
Apart set_apart(const Sighting& sighting, const std::vector<int>& runs);

}  // namespace ria
