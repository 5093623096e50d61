// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "ria/method.h"

namespace ria {

/// Every backbone with every aggregator that needs no training.
std::vector<Method> pairing_rows();

/// What methods() lists.
std::vector<Method> listed_rows();

}  // namespace ria
