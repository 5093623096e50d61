// SPDX-License-Identifier: MIT
// What a search structure finds of pictures that nothing was trained with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "ria/map.h"
#include "ria/matrix.h"
#include "structure/search_file.h"

namespace ria {

/// Of some places, far from each other, a picture each that another day may show of them: less of
/// what sets the place apart, and a little of what sets each of the others apart, so that they vary
/// as places do. Places themselves, who have their neighbours along a street, would be found too
/// easily.
Matrix seen_again(const Matrix& places, std::uint64_t seed);

/// Pictures that look for the place nearest to them.
struct HeldOut {
  Matrix queries;
  std::vector<Match> nearest;  ///< what is right
};

/// As few lists, or places in sight, and descriptors as one half of the pictures allow; the recall
/// is that of the other half. `body` is of that map and has no footer yet.
SearchMeasure measured(const std::filesystem::path& body, const HeldOut& held_out);

}  // namespace ria
