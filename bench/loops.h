// SPDX-License-Identifier: MIT
// What closing a loop costs behind the network.
#pragma once

#include "search.h"

namespace ria::bench {

/// A picture against a map of so many places of 2,080 dims in half precision, and into it.
void loops(int places, int rounds, const Put& put);

}  // namespace ria::bench
