// SPDX-License-Identifier: MIT
// Which local features of two pictures choose each other.
#pragma once

#include <utility>
#include <vector>

#include "ria/features.h"

namespace ria {

/// Pairs (row of a, row of b) of unit vectors that are each other's nearest: the largest dot
/// product both ways, the lowest row of equals. Sorted by the row of a. Throws
/// std::invalid_argument on rows of different widths.
std::vector<std::pair<int, int>> mutual_neighbours(const Matrix& a, const Matrix& b);

}  // namespace ria
