// SPDX-License-Identifier: MIT
#include "ria/rerank.h"

#include <algorithm>
#include <stdexcept>

namespace ria {

std::vector<Match> Reranker::reorder(const std::vector<Match>& matches,
                                     const std::vector<double>& scores) const {
  if (scores.size() != matches.size()) {
    throw std::invalid_argument("a score for each match was expected");
  }
  std::vector<Match> ordered;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    ordered.push_back({matches[i].place, static_cast<float>(scores[i])});
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Match& a, const Match& b) {
    return a.score > b.score;
  });
  return ordered;
}

}  // namespace ria
