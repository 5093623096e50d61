// SPDX-License-Identifier: MIT
// Which pictures meet in a step: P places of one group with K pictures each.
#pragma once

#include <cstdint>
#include <vector>

#include "ria/train.h"

namespace ria {

struct BatchOptions {
  int places_per_batch = 60;   ///< P
  int pictures_per_place = 4;  ///< K
  std::uint32_t seed = 42;

  void validate() const;
};

/// K pictures of one place, then K of the next.
struct PictureBatch {
  std::vector<int> pictures;         ///< positions in TrainingSet::pictures
  std::vector<std::int64_t> labels;  ///< of each picture: its place, a position in places
  int group = 0;

  int places(int pictures_per_place) const {
    return static_cast<int>(pictures.size()) / pictures_per_place;
  }
};

/// The batches of an epoch, those of all groups in one random order; they follow from the set, the
/// options and the epoch alone. Every place is in one batch at least, none beside one it conflicts
/// with. A batch that the places left over do not fill takes further ones of the group, as many as
/// fit in; with fewer than two places it is dropped. Pictures of a place are drawn without
/// repeating one and, where it has fewer than K, each as often as the others.
std::vector<PictureBatch> epoch_batches(const TrainingSet& set,
                                        const BatchOptions& options,
                                        int epoch);

/// The places of a batch that worker `rank` of `count` takes: one worker's behind the other's are
/// the batch again. May be empty where workers are more than places.
PictureBatch share_of(const PictureBatch& batch, int pictures_per_place, int rank, int count);

}  // namespace ria
