// SPDX-License-Identifier: MIT
#include "structure/tables.h"

#include <limits>

namespace ria {

double nearest_entries(const SearchShape& shape,
                       const SearchModel& model,
                       const float* row,
                       std::uint8_t* code) {
  const int part = shape.part();
  const float* entry = model.tables.data();
  double left = 0;
  for (int p = 0; p < 2 * shape.pairs; ++p) {
    const float* values = row + p * part;
    float least = std::numeric_limits<float>::infinity();
    int best = 0;
    for (int e = 0; e < kTableEntries; ++e, entry += part) {
      float distance = 0;
      for (int i = 0; i < part; ++i) distance += (values[i] - entry[i]) * (values[i] - entry[i]);
      if (distance < least) least = distance, best = e;
    }
    left += least;
    if (code != nullptr) code[p / 2] |= static_cast<std::uint8_t>(best << (p % 2 * 4));
  }
  return left;
}

}  // namespace ria
