// SPDX-License-Identifier: MIT
// What one question costs the library: what a service may be compared with.
#pragma once

#include <filesystem>

namespace ria::bench {

/// A picture's bytes to its places and the probability of the best, on all cores, again and again
/// for so many seconds; prints the median time in milliseconds and how many there were.
void time_queries(const std::filesystem::path& map,
                  const std::filesystem::path& picture,
                  double seconds);

}  // namespace ria::bench
