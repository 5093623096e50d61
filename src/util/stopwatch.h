// SPDX-License-Identifier: MIT
// Time between calls.
#pragma once

#include <chrono>

namespace ria {

class Stopwatch {
 public:
  /// Seconds since the last call, or since it was made.
  double seconds() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> spent = now - last_;
    last_ = now;
    return spent.count();
  }
  /// The same in milliseconds.
  double milliseconds() { return 1e3 * seconds(); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace ria
