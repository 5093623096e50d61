// SPDX-License-Identifier: MIT
#pragma once

#include "ria/features.h"

namespace ria {

/// numpy.random.RandomState(seed).normal(size=(rows, columns)).
MatrixD standard_normal(int rows, int columns, std::uint32_t seed);

}  // namespace ria
