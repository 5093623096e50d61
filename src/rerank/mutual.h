// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "ria/features.h"

namespace ria {

/// Rows of a and b that are each other's nearest by dot product: (row of a, row of b), by rising
/// row of a. Of equally near rows the first counts.
std::vector<std::pair<int, int>> mutual_neighbours(const Matrix& a, const Matrix& b);

}  // namespace ria
