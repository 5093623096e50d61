// SPDX-License-Identifier: MIT
#pragma once

#include "ria/features.h"

namespace ria {

/// The numbers of torch.manual_seed(seed); torch.randn(rows, columns) on the CPU, up to the last
/// digits of logarithm and cosine, so that a seed means the same projection here and in a PyTorch
/// experiment. At least 16 numbers.
Matrix standard_normal(int rows, int columns, std::uint64_t seed);

}  // namespace ria
