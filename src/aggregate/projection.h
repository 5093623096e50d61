// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "ria/eigen.h"

namespace ria {

/// numpy.random.RandomState(seed).normal(size=(rows, columns)).
EigenMatrixD standard_normal(int rows, int columns, std::uint32_t seed);

}  // namespace ria
