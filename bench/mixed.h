// SPDX-License-Identifier: MIT
// Real places among many made ones: what approximate search costs in recall.
#pragma once

#include <filesystem>
#include <vector>

#include "search.h"

namespace ria::bench {

/// R@1 of each ground truth's queries in one map of all their places and as many made ones, exact
/// and as `auto` searches.
void mixed(const std::vector<std::filesystem::path>& ground_truths, int places, const Put& put);

}  // namespace ria::bench
