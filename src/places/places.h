// SPDX-License-Identifier: MIT
// Places while they are read: what the readers of the different sources share.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "ria/train.h"

namespace ria {

/// Places of one group; pictures are positions in `files`, each in one place at most.
struct FoundPlaces {
  std::vector<std::filesystem::path> files;
  std::vector<std::vector<int>> places;
  std::vector<std::array<int, 2>> conflicts;  ///< positions in `places`; in any order, repeated too
};

/// Appends a group with those places that have `min_pictures` and with their pictures; none of
/// either: no group. Returns how many places it has.
int append_group(TrainingSet& set,
                 const std::string& group,
                 const FoundPlaces& found,
                 int min_pictures);

/// The option, or what 0 stands for.
int least_pictures(const PlaceOptions& options, int own);

/// Throws std::runtime_error that says why a source has nothing to train on.
void require_places(const TrainingSet& set, const std::string& source, int min_pictures);

}  // namespace ria
