// SPDX-License-Identifier: MIT
// Nearest rows of two matrices, both ways at once.
#pragma once

#include <cstdint>
#include <vector>

#include "ria/features.h"

namespace ria {

/// Where the largest dot products are.
struct NearestRows {
  std::vector<std::int32_t> of_a;  ///< for each row of a its nearest row of b
  std::vector<std::int32_t> of_b;  ///< for each row of b its nearest row of a
};

/// The row with the largest product, the first of equals; -1 where there is none, or only NaN. The
/// products are not kept. The same bits for any number of threads.
NearestRows nearest_rows(const Matrix& a, const Matrix& b);

}  // namespace ria
