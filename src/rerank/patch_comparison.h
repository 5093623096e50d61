// SPDX-License-Identifier: MIT
// How two pictures agree whose patches are kept as bits.
#pragma once

#include <span>
#include <vector>

#include "rerank/bits.h"
#include "rerank/blocks.h"
#include "rerank/votes.h"
#include "ria/rerank.h"

namespace ria {

/// One picture against many.
class PatchComparison final : public PreparedQuery {
 public:
  /// `tolerance`: PatchRerankOptions::rerank_tolerance.
  PatchComparison(PackedLocalFeatures query,
                  double tolerance,
                  const PanelKernels& kernels = *panel_kernels().front());
  ~PatchComparison() override;
  PatchComparison(const PatchComparison&) = delete;  // it points into itself
  PatchComparison& operator=(const PatchComparison&) = delete;

  Agreement compare(const PackedLocalFeatures& place) override;
  Likeness likeness() const override { return likeness_; }
  /// The matches behind the last compare().
  std::span<const CellPair> agreeing() const { return agreeing_; }

 private:
  void cast_votes(const BitGrid& place, int cells);
  /// Without the score.
  Agreement agree(const BitGrid& place, int cells, const Peak& peak, double reach);
  /// What the blocks found, brought from the grid they were compared on to the query's own.
  void keep_likeness(const BitGrid& compared);

  PackedLocalFeatures packed_;
  BitGrid query_;
  double tolerance_;
  BitMatcher matcher_;
  Election election_;
  BlockMatcher blocks_;
  std::span<const BitMatch> matches_;
  std::vector<Vote> votes_;  // of the matches, in their order
  std::vector<CellPair> agreeing_;
  Likeness likeness_;
  PackedLocalFeatures coarser_query_, coarser_place_;  // where grids differ
};

}  // namespace ria
