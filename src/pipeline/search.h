// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "ria/recognizer.h"

namespace ria {

/// Recognizer::search() where only some places may be answers.
std::vector<std::vector<Match>> search_among(const Recognizer& recognizer,
                                             const Map& map,
                                             const Descriptions& queries,
                                             int k,
                                             const SearchOptions& among,
                                             const RunOptions& run,
                                             PairScores* compared);

}  // namespace ria
