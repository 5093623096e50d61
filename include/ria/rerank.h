// SPDX-License-Identifier: MIT
// A second look at the first answers: local features of the query against those of each place.
#pragma once

#include <memory>
#include <vector>

#include "ria/features.h"
#include "ria/index.h"

namespace ria {

PackedLocalFeatures pack(const LocalFeatures& local);
/// Throws std::invalid_argument if the sizes disagree.
LocalFeatures unpack(const PackedLocalFeatures& packed);

/// TODO
struct PatchRerankOptions {
  void validate() const {}
};
std::unique_ptr<class Reranker> make_patch_reranker(int feature_dim, const PatchRerankOptions& options);

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
