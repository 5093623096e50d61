// SPDX-License-Identifier: MIT
#include "rerank/distinction.h"

#include <algorithm>
#include <cmath>

#include "ria/eigen.h"

namespace ria {

namespace {

/// Less than this is rounding error of equal likenesses.
constexpr double kNoDistinction = 1e-3;

}  // namespace

std::vector<float> usual_likeness(const std::vector<const Likeness*>& likenesses) {
  const std::size_t cells = likenesses.empty() ? 0 : likenesses.front()->cells.size();
  const auto of_same_grid = [&](const Likeness* one) { return one->cells.size() == cells; };
  if (!std::ranges::all_of(likenesses, of_same_grid)) return {};
  std::vector<float> mean(cells, 0.0f);
  for (const Likeness* one : likenesses) as_eigen(mean) += as_eigen(one->cells);
  as_eigen(mean) /= static_cast<float>(likenesses.size());
  return mean;
}

double distinction(const Likeness& place, const std::vector<float>& usual) {
  const EigenVector excess = (as_eigen(place.cells) - as_eigen(usual)).cwiseMax(0.0f);
  const double mean = (excess.array() * excess.array().sqrt()).mean();
  return std::sqrt(place.share) * std::cbrt(mean);
}

double distinction_unit(const std::vector<double>& distinct, const std::vector<double>& scores) {
  const auto best = std::ranges::max_element(distinct);
  if (best == distinct.end() || !(*best > kNoDistinction)) return 0;
  return scores[best - distinct.begin()] / *best;
}

}  // namespace ria
