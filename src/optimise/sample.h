// SPDX-License-Identifier: MIT
// Some descriptors of a map, spread over all of it.
#pragma once

#include <vector>

#include "index/store.h"
#include "ria/matrix.h"

namespace ria {

/// Of every eighth place of a block nothing is trained: those are held out.
inline constexpr int kHeldOutEvery = 8;

/// Blocks of a map, each read in a transaction of its own, so that nobody waits for long.
class Blocks {
 public:
  Blocks(const MapStore& store, std::vector<SearchBlock> all)
      : store_(&store), all_(std::move(all)) {}

  const MapStore& store() const { return *store_; }
  const std::vector<SearchBlock>& all() const { return all_; }
  int count() const { return static_cast<int>(all_.size()); }
  /// Throws std::runtime_error if it is not there any more.
  MapStore::LiveBlock read(int i) const;

 private:
  const MapStore* store_;
  std::vector<SearchBlock> all_;
};

/// About so many places, of at most `blocks` blocks.
Matrix sample(const Blocks& blocks, int wanted, int most_blocks, bool held_out);

}  // namespace ria
