// SPDX-License-Identifier: MIT
// Matches vote for how a picture moved.
#pragma once

#include <span>
#include <vector>

namespace ria {

/// By how many cells the picture moved, and how much that counts.
struct Vote {
  int down;
  int right;
  float weight;
};

/// A displacement and the sum of the votes around it.
struct Peak {
  int down = 0;
  int right = 0;
  float sum = 0;
};

/// How much a vote counts `away` cells along one axis from a displacement: falling linearly to
/// nothing at `reach`.
inline float fall(int away, double reach) {
  const double share = 1 - (away < 0 ? -away : away) / reach;
  return share > 0 ? static_cast<float>(share) : 0.0f;
}

/// Its memory is used again from one election to the next.
class Election {
 public:
  /// The displacement with the largest sum of votes, each weighed by fall() along both axes.
  Peak winner(std::span<const Vote> votes, double reach);

 private:
  std::vector<float> sums_, row_, fall_;
};

}  // namespace ria
