// SPDX-License-Identifier: MIT
// Which cells of two pictures, kept as bits, choose each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/panel_kernels.h"
#include "ria/features.h"
#include "util/aligned.h"

namespace ria {

/// Whether one bit a value was kept.
bool keeps_signs(const PackedLocalFeatures& packed);

/// The cells of one picture as they are kept: rows of bits. A row without a set bit is a flat cell,
/// which is like none.
struct BitGrid {
  /// Throws std::invalid_argument unless signs were kept, of at most 65536 cells. The bytes stay
  /// where they are.
  explicit BitGrid(const PackedLocalFeatures& packed);

  int cells() const { return height * width; }
  int longest_side() const { return height > width ? height : width; }
  const std::uint8_t* row(int cell) const {
    return bytes + 4 * static_cast<std::int64_t>(words) * cell;
  }
  bool flat(int cell) const;

  const std::uint8_t* bytes;
  int words;  ///< of 32 bits, of a row
  int height;
  int width;
};

/// Two cells and the number of bits in which they differ.
struct BitMatch {
  int query;
  int place;
  int distance;
};

/// One picture, against many others. Its memory is used again from one to the next.
class BitMatcher {
 public:
  explicit BitMatcher(const BitGrid& query, const PanelKernels& kernels = *panel_kernels().front());

  /// Pairs of cells that differ least both ways, of equals the first, by rising cell of the query;
  /// until the next call. Throws std::invalid_argument on rows of another length.
  std::span<const BitMatch> match(const BitGrid& place);

 private:
  BitGrid query_;
  const PanelKernels& kernels_;
  int lanes_;                            // cells of the query, rounded up to whole panels
  AlignedBuffer<std::uint32_t> panels_;  // [panel][word][lane]
  AlignedBuffer<std::int32_t> of_query_, of_place_;
  std::vector<std::int32_t> nearest_;  // cell of the query, for each of the place
  std::vector<BitMatch> matches_;
};

}  // namespace ria
