// SPDX-License-Identifier: MIT
// A transformer's table of position embeddings on another grid.
#pragma once

#include "ria/backbone.h"
#include "ria/features.h"

namespace ria {

/// `table` has one row for the class token and side x side rows for patches; so has the result for
/// its grid. The hub rule leaves the table as it is where the grid is its own.
Matrix resize_positions(const Matrix& table, int side, int height, int width, PositionRule rule);

}  // namespace ria
