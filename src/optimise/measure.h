// SPDX-License-Identifier: MIT
// What a search structure finds of places that nothing was trained with.
#pragma once

#include <filesystem>
#include <vector>

#include "index/store.h"
#include "ria/matrix.h"
#include "structure/search_file.h"

namespace ria {

/// Places that look for the other place nearest to them.
struct HeldOut {
  std::vector<int> places;
  Matrix rows;
  std::vector<Match> nearest;  ///< what is right
};

/// As few lists, or places in sight, and descriptors as one half of the places allow; the recall is
/// that of the other half. `body` is of that map and has no footer yet.
SearchMeasure measured(const std::filesystem::path& body,
                       const MapStore& store,
                       const HeldOut& held_out);

}  // namespace ria
