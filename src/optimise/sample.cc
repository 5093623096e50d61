// SPDX-License-Identifier: MIT
#include "optimise/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace ria {

MapStore::LiveBlock Blocks::read(int i) const {
  MapStore::LiveBlock block;
  store_->database().reading(
      [&] { block = store_->live_block(all_[static_cast<std::size_t>(i)]); });
  if (block.block.last == 0 && block.places.empty()) {
    throw std::runtime_error(fmt::format("places of {} were removed meanwhile: start again",
                                         store_->database().file().string()));
  }
  return block;
}

Matrix sample(const Blocks& blocks, int wanted, int most_blocks, bool held_out) {
  const int used = std::clamp(std::min(most_blocks, wanted), 1, blocks.count());
  const int each = (wanted + used - 1) / used;
  EncodedRows rows;
  for (int b = 0; b < used; ++b) {
    const auto at = static_cast<int>(std::int64_t{b} * blocks.count() / used);
    const MapStore::LiveBlock block = blocks.read(at);
    std::vector<int> choice;
    for (int i = 0; i < block.rows.count(); ++i) {
      if ((i % kHeldOutEvery == kHeldOutEvery - 1) == held_out) choice.push_back(i);
    }
    const int taken = std::min<int>(each, static_cast<int>(choice.size()));
    for (int i = 0; i < taken; ++i) {
      rows.append(
          block.rows, choice[std::int64_t{i} * std::ssize(choice) / taken], blocks.store().form());
    }
  }
  return decode(rows, blocks.store().form());
}

}  // namespace ria
