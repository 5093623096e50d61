// SPDX-License-Identifier: MIT
#include "loop/guess.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "loop/place_filter.h"
#include "ria/loop.h"

namespace ria {

/// The first `count` by falling score, of equals the lower number.
void keep_most_alike(std::vector<Match>& matches, std::size_t count) {
  count = std::min(count, matches.size());
  std::partial_sort(matches.begin(),
                    matches.begin() + static_cast<std::ptrdiff_t>(count),
                    matches.end(),
                    [](const Match& a, const Match& b) {
                      return a.score != b.score ? a.score > b.score : a.place < b.place;
                    });
  matches.resize(count);
}

double Spread::deviation() const {
  return std::sqrt(std::max(0.0, squares_ / count_ - mean() * mean()));
}

Match guess_place(std::vector<Match> cosines,
                  const std::unordered_map<int, double>& agreements,
                  const LoopOptions& options) {
  if (cosines.empty()) return {};
  Spread spread;
  for (const Match& match : cosines) spread.add(match.score);
  Sighting sighting;
  sighting.cosine_mean = spread.mean();
  sighting.cosine_deviation = spread.deviation();
  std::erase_if(cosines, [&](const Match& match) { return !agreements.contains(match.place); });
  const auto best_where = [&](const auto& wanted) {
    std::vector<Match> some;
    std::ranges::copy_if(cosines, std::back_inserter(some), wanted);
    keep_most_alike(some, static_cast<std::size_t>(options.candidates));
    return some;
  };
  for (const Match& match : with_rivals(best_where, FilterModel().around)) {
    Candidate candidate{match.place, match.score, {}, {}};
    candidate.agreement.score = agreements.at(match.place);
    sighting.candidates.push_back(candidate);
  }
  const Estimate estimate = PlaceFilter().update(sighting);
  return {estimate.place, static_cast<float>(estimate.probability)};
}

}  // namespace ria
