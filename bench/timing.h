// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace ria::bench {

inline double seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Best time of each body over alternating rounds; a body is repeated until a round takes 20 ms.
inline std::vector<double> best_of(int rounds, const std::vector<std::function<void()>>& bodies) {
  std::vector<double> best(bodies.size(), std::numeric_limits<double>::infinity());
  std::vector<int> repeats;
  for (const auto& body : bodies) {
    body();  // warm-up
    repeats.push_back(
        std::max(1, static_cast<int>(std::ceil(0.02 / std::max(seconds(body), 1e-7)))));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const double spent = seconds([&] {
        for (int r = 0; r < repeats[i]; ++r) bodies[i]();
      });
      best[i] = std::min(best[i], spent / repeats[i]);
    }
  }
  return best;
}

}  // namespace ria::bench
