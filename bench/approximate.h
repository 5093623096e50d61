// SPDX-License-Identifier: MIT
// Approximate search of many realistic places against exact search of the same.
#pragma once

#include "search.h"

namespace ria::bench {

void approximate(int places, int rounds, const Put& put);

}  // namespace ria::bench
