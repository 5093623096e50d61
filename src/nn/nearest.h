// SPDX-License-Identifier: MIT
// Nearest rows of two matrices, both ways at once.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/panel_kernels.h"
#include "ria/features.h"

namespace ria {

/// Where the largest dot products are.
struct NearestRows {
  std::vector<std::int32_t> of_a;  ///< for each row of a its nearest row of b
  std::vector<std::int32_t> of_b;  ///< for each row of b its nearest row of a
};

/// The row with the largest product, the first of equals; -1 where there is none, or only NaN. The
/// products are not kept. The same result for any number of threads. Throws std::invalid_argument
/// on rows of different widths.
NearestRows nearest_rows(const Matrix& a,
                         const Matrix& b,
                         const PanelKernels& kernels = *panel_kernels().front());

}  // namespace ria
