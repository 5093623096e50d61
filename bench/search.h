// SPDX-License-Identifier: MIT
// Exact search and the opening of a map against the speed of the memory.
#pragma once

#include <functional>
#include <string>

namespace ria::bench {

using Put = std::function<void(const std::string& key, double value)>;

/// Bytes a second that all cores read from memory together.
double memory_bandwidth(int rounds);

/// `places` made-up descriptors of 2,080 dims, the same for the same number.
void search(int places, int rounds, const Put& put);

}  // namespace ria::bench
