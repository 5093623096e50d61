// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "ria/matrix.h"
#include "ria/train.h"

namespace ria {

/// Adds the hardest pairs of a batch to those kept: two places most alike, one place most unlike;
/// a pair of files is kept once, at most kKeptPairs of each kind, hardest first.
inline constexpr int kKeptPairs = 12;
void add_hard_pairs(const Matrix& descriptors,
                    const std::vector<std::int64_t>& labels,
                    const std::vector<std::filesystem::path>& files,
                    std::vector<HardPair>& kept);

}  // namespace ria
