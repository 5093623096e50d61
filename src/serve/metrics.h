// SPDX-License-Identifier: MIT
// What was asked, how it was answered and how long it took, as Prometheus reads it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace ria {

class Metrics {
 public:
  void record(const std::string& operation, int status, double seconds);
  /// The text, with these numbers of the present behind it.
  std::string text(const std::map<std::string, double>& gauges) const;

 private:
  static constexpr std::array<double, 12> kBounds{
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
  struct Times {
    std::array<std::uint64_t, kBounds.size()> up_to{};
    std::uint64_t count = 0;
    double sum = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::string, Times> times_;
};

}  // namespace ria
