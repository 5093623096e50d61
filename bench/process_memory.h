// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <string>

namespace ria::bench {

/// Bytes that /proc/self/status says, e.g. of "VmRSS:" or "VmHWM:"; 0 if it says nothing.
inline double process_memory(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    double kilobytes = 0;
    if (word == key && in >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace ria::bench
