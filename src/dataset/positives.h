// SPDX-License-Identifier: MIT
// Which database pictures are right for a query: by distance, by frame number, by a list.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "dataset/loading.h"

namespace ria {

/// All database positions at most `radius` away, sorted; pictures without a position have none.
std::vector<std::vector<int>> within(const Positions& queries,
                                     const Positions& database,
                                     double radius);

/// Query i's right places are i - tolerance to i + tolerance, as far as they exist.
std::vector<std::vector<int>> near_frames(std::size_t queries, std::size_t database, int tolerance);

using PositiveLists = std::vector<std::vector<std::int64_t>>;

/// Makes lists of a foreign file the dataset's positives: as many as there are queries, sorted,
/// each place once, none outside the database. What had to change is remarked; `runs_over` says
/// that the published lists are known to point past the end.
void settle_positives(Loading& loading,
                      const PositiveLists& lists,
                      const std::filesystem::path& file,
                      bool runs_over = false);

/// Fills positions and positives; remarks pictures without a position and throws if none has one.
void settle_positions(Loading& loading, Positions database, Positions queries, double radius);

}  // namespace ria
