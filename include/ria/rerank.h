// SPDX-License-Identifier: MIT
// A second look at the first answers: local features of the query against those of each place.
#pragma once

#include <memory>
#include <vector>

#include "ria/features.h"
#include "ria/index.h"

namespace ria {

/// What a re-ranker keeps of a picture: unit vectors on a grid, one a row.
struct LocalFeatures {
  Matrix vectors;       ///< N x d, N = grid_height * grid_width
  int grid_height = 0;  ///< rows of the grid
  int grid_width = 0;   ///< columns of the grid
};

/// Compares two pictures by their local features. Implementations hold no mutable state: one serves
/// all threads.
class Reranker {
 public:
  virtual ~Reranker() = default;
  /// What has to be kept of a picture. Throws std::invalid_argument on features of another width.
  virtual LocalFeatures extract(const PatchFeatures& features) const = 0;
  /// How well the two agree; larger is better.
  virtual double score(const LocalFeatures& query, const LocalFeatures& place) const = 0;
  /// The first answers in their new order: `matches` are by cosine, best first, and scores[i] is
  /// score() of matches[i]. By falling score unless a re-ranker knows better; each returned match
  /// carries the score it is ordered by.
  virtual std::vector<Match> reorder(const std::vector<Match>& matches,
                                     const std::vector<double>& scores) const;
};

}  // namespace ria
