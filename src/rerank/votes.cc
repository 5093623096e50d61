// SPDX-License-Identifier: MIT
#include "rerank/votes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ria {

Peak Election::winner(std::span<const Vote> votes, double reach) {
  if (votes.empty()) return {};
  const auto [top, bottom] = std::ranges::minmax(votes, {}, &Vote::down);
  const auto [left, right] = std::ranges::minmax(votes, {}, &Vote::right);
  const int radius = static_cast<int>(std::ceil(reach)) - 1;
  const int first_row = top.down - radius, rows = bottom.down - first_row + radius + 1;
  const int first_column = left.right - radius, columns = right.right - first_column + radius + 1;
  fall_.resize(radius + 1);
  for (int i = 0; i <= radius; ++i) fall_[i] = fall(i, reach);

  // Along the rows where the votes are; then down the columns, whole rows at a time.
  sums_.assign(static_cast<std::size_t>(rows) * columns, 0.0f);
  const auto row_at = [&](int row) {
    return sums_.data() + static_cast<std::size_t>(row) * columns;
  };
  for (const Vote& vote : votes) {
    float* at = row_at(vote.down - first_row) + vote.right - first_column;
    for (int i = -radius; i <= radius; ++i) at[i] += vote.weight * fall_[std::abs(i)];
  }
  Peak peak;
  row_.resize(columns);
  for (int row = radius; row + radius < rows; ++row) {
    std::copy_n(row_at(row), columns, row_.begin());
    for (int i = 1; i <= radius; ++i) {
      const float *above = row_at(row - i), *below = row_at(row + i), share = fall_[i];
      for (int c = 0; c < columns; ++c) row_[c] += share * (above[c] + below[c]);
    }
    const auto largest = std::ranges::max_element(row_);
    if (*largest > peak.sum) {
      peak = {first_row + row, first_column + static_cast<int>(largest - row_.begin()), *largest};
    }
  }
  return peak;
}

}  // namespace ria
