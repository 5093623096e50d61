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

/// For keeping; a value may lose digits to half precision.
RIA_API PackedLocalFeatures pack(const LocalFeatures& local);
/// Throws std::invalid_argument if the sizes disagree.
RIA_API LocalFeatures unpack(const PackedLocalFeatures& packed);

/// How well two pictures agree, and how the view moved between them. A re-ranker that does not ask
/// where matches are leaves the view where it is.
struct Agreement {
  double score = 0;  ///< larger is better
  /// By how many cells of the query's grid: where a cell of the query lies in the place less where
  /// it lies in the query, at the middle of the picture.
  double down = 0;
  double right = 0;
  double scale = 1;  ///< how much larger things are in the place
  int pairs = 0;     ///< matches that agree
};

/// A cell of the query and the cell of the place it was matched with.
struct CellPair {
  int query = 0;     ///< row of the query's vectors
  int place = 0;     ///< row of the place's vectors
  float weight = 0;  ///< what it adds to the agreement, in (0, 1]
};

/// What a comparison knows cell by cell.
struct Likeness {
  /// How alike each cell of the query is to what was found for it, from 0 (nothing) to 1; empty:
  /// not known.
  std::vector<float> cells;
  double share = 0;  ///< of the smaller grid: patches that agree on how the view moved
};

/// A query made ready to meet many kept places: memory is used again from place to place. For one
/// thread at a time, and no longer than its re-ranker.
class RIA_API PreparedQuery {
 public:
  virtual ~PreparedQuery();
  /// Throws std::invalid_argument if the place was kept in another form than the query.
  virtual Agreement compare(const PackedLocalFeatures& place) = 0;
  /// What the last compare() found beside its agreement.
  virtual Likeness likeness() const;
};

/// Compares two pictures by their local features. Implementations hold no mutable state: one serves
/// all threads.
class RIA_API Reranker {
 public:
  virtual ~Reranker();
  /// What has to be kept of a picture. Throws std::invalid_argument on features of another width.
  virtual LocalFeatures extract(const PatchFeatures& features) const = 0;
  virtual Agreement compare(const LocalFeatures& query, const LocalFeatures& place) const = 0;
  /// The matches behind compare(), as many as Agreement::pairs, by rising cell of the query.
  virtual std::vector<CellPair> agreeing_pairs(const LocalFeatures& query,
                                               const LocalFeatures& place) const = 0;
  /// compare() of one with many, as they are kept.
  virtual std::unique_ptr<PreparedQuery> prepare(const PackedLocalFeatures& query) const;
  double score(const LocalFeatures& query, const LocalFeatures& place) const {
    return compare(query, place).score;
  }
  /// The first answers in their new order: `matches` are by cosine, best first, scores[i] is
  /// score() of matches[i] and likenesses[i], unless there are none, what was found cell by cell.
  /// By falling score unless a re-ranker knows better; each returned match carries the score it is
  /// ordered by.
  virtual std::vector<Match> reorder(const std::vector<Match>& matches,
                                     const std::vector<double>& scores,
                                     const std::vector<Likeness>& likenesses) const;
  std::vector<Match> reorder(const std::vector<Match>& matches,
                             const std::vector<double>& scores) const {
    return reorder(matches, scores, {});
  }
};

/// Re-ranking by matched patches. Nothing is trained and the constants are the same for every
/// backbone and dataset.
struct RIA_API PatchRerankOptions {
  int rerank_d = 256;              ///< bits kept of a patch, a multiple of 32
  std::uint32_t rerank_seed = 42;  ///< of the random directions they are the signs along
  /// How far two matches may disagree about where the picture moved, as a share of its longest
  /// side, in (0, 1]. Agreement falls linearly to nothing there.
  double rerank_tolerance = 0.2;
  /// Weight of the cosine beside the matched patches, both in units of their own spread over the
  /// candidates of a query; 0: patches alone.
  double rerank_cosine_weight = 0.1;

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// For any backbone with patches. extract() takes out what all patches of a picture share and keeps
/// the signs along random directions. Patches that choose each other vote, with their cosine, for
/// the displacement between them; the largest agreeing vote is a share of the smaller grid. All
/// patches, each with those around it, are then looked for near where that displacement takes them,
/// and `alike` is the mean square of the cosines found. The score, (share * alike^2)^(1/3), is in
/// [0, 1]. A picture with itself has 1 if no two of its patches are alike and none is the mean of
/// all. Exchanging the two pictures changes it by rounding only.
///
/// Among the answers to a query that likeness counts by which it exceeds the mean of all answers,
/// cell by cell: share * excess, with a little of the cosine, is what reorder() goes by. The first
/// answer carries about the score that it has by itself.
RIA_API std::unique_ptr<Reranker> make_patch_reranker(int feature_dim,
                                                      const PatchRerankOptions& options = {});

}  // namespace ria
