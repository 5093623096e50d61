// SPDX-License-Identifier: MIT
// A second look at the first answers: local features of the query against those of each place.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ria/api.h"
#include "ria/features.h"
#include "ria/map.h"

namespace ria {

RIA_API PackedLocalFeatures pack(const LocalFeatures& local);
/// Throws std::invalid_argument if the sizes disagree.
RIA_API LocalFeatures unpack(const PackedLocalFeatures& packed);

/// Compares two pictures by their local features. Implementations hold no mutable state: one serves
/// all threads.
class RIA_API Reranker {
 public:
  virtual ~Reranker();
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

/// Re-ranking by matched patches. Nothing is trained and the constants are the same for every
/// backbone and dataset.
struct RIA_API PatchRerankOptions {
  int rerank_d = 64;               ///< values kept of a patch, from 1 to the backbone's dimension
  std::uint32_t rerank_seed = 42;  ///< of the random orthogonal projection to them
  /// How far two matches may disagree about where the picture moved, as a share of its longest
  /// side, in (0, 1]. Agreement falls linearly to nothing there.
  double rerank_tolerance = 0.2;
  /// Weight of the cosine beside the matched patches, both in units of their own spread over the
  /// candidates of a query; 0: patches alone.
  double rerank_cosine_weight = 0.25;

  void validate() const;
};

/// For any backbone with patches. extract() takes out what all patches of a picture share,
/// projects and normalises them. score() is in [0, 1]: patches that choose each other vote, with
/// their cosine, for the displacement between them; it is the largest agreeing vote as a share of
/// the smaller grid. A picture with itself has 1 if no two of its patches are alike and none is the
/// mean of all. Exchanging the two pictures changes it by rounding only.
/// Throws std::invalid_argument if rerank_d is larger than feature_dim.
RIA_API std::unique_ptr<Reranker> make_patch_reranker(int feature_dim,
                                                      const PatchRerankOptions& options = {});

}  // namespace ria
