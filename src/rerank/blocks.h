// SPDX-License-Identifier: MIT
// How alike two pictures are once it is known how far the view moved.
#pragma once

#include <span>
#include <vector>

#include "rerank/bits.h"

namespace ria {

/// Every cell is looked for in the other picture, some cells around where the displacement takes
/// it, together with the cells around it: near things move farther than distant ones, but
/// neighbours move alike. Its memory is used again from one pair to the next.
class BlockMatcher {
 public:
  explicit BlockMatcher(const PanelKernels& kernels) : kernels_(kernels) {}

  /// In [0, 1]: the mean over the cells of both of the largest likeness found, squared, so that
  /// many faint likenesses do not outweigh a few clear ones. A displacement's likeness is the
  /// cosine of the cells it brings together and of those at most `radius` cells beside them,
  /// weighed by how near they are. Displacements up to `radius` cells from (down, right) are tried.
  /// Both grids have cells of one size and rows of one length. Exchanging the two, with (-down,
  /// -right), changes rounding only.
  double alike(const BitGrid& a, const BitGrid& b, int down, int right, int radius);
  /// The largest likeness of each cell of `a`, until the next call.
  std::span<const float> of_first() const { return a_.best; }

 private:
  /// One of the two pictures.
  struct Side {
    std::vector<float> textured;  // 1, or 0 for a flat cell
    std::vector<float> of_row,
        of_column;  // 1 / weight of the cells around it that are in the picture
    std::vector<float> best;
    void reset(const BitGrid& grid, const std::vector<float>& fall);
    double squares() const;
  };
  void try_displacement(const BitGrid& a, const BitGrid& b, int down, int right);
  void take_better(Side& side, int row, int left, int width, int count);

  const PanelKernels& kernels_;
  std::vector<float> fall_;  // weights from -radius to radius
  Side a_, b_;
  std::vector<std::int32_t> distances_;
  std::vector<float> likeness_, across_, sum_;
};

}  // namespace ria
