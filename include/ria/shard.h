// SPDX-License-Identifier: MIT
// A part of a list of pictures, the same on every machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ria/api.h"

namespace ria {

/// Part `index` of `count`, from 1 on: "3/16". Parts are runs of the list, as long as each other
/// but for one group, so that what was made of them, one behind the other, is what one process
/// makes.
struct RIA_API Shard {
  int index = 1;
  int count = 1;

  /// Throws std::invalid_argument unless the text is of that form.
  static Shard parse(const std::string& text);
  /// This part's pictures; there may be none. `group` pictures that follow each other stay
  /// together: what MethodOptions::cross_image describes at once.
  std::vector<std::filesystem::path> of(const std::vector<std::filesystem::path>& pictures,
                                        int group = 1) const;
};

}  // namespace ria
