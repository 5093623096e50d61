// SPDX-License-Identifier: MIT
// Where loops lie: in the matrix of all pictures, and on the way driven.
#pragma once

#include <string>
#include <vector>

#include "ria/loop_run.h"

namespace ria {

/// How alike the kept pictures are, with the loops; places[i] is the frame that frame i shows
/// again.
std::string similarity_html(const LoopRun& run, const Map& map, const std::vector<int>& places);

/// The way and an edge for each loop; empty where positions are not known.
std::string path_html(const LoopRun& run, const std::vector<int>& places);

}  // namespace ria
