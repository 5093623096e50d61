// SPDX-License-Identifier: MIT
// How fast a long run goes at present.
#pragma once

#include <algorithm>
#include <cmath>

namespace ria::cli {

/// The rate of the last seconds: the mean of the logarithms of the rates of single steps, each
/// weighted by its length, 2 s at most, and by e^(-age / 10 s). Of logarithms, so that a thousand
/// pictures from a cache are forgotten as fast as a slow start is. What was done before the first
/// call took no time and does not count.
class RecentRate {
 public:
  /// So much is done at this moment. Both only grow.
  void add(double seconds, double done) {
    if (!started_) {
      started_ = true;
      last_seconds_ = seconds;
      last_done_ = done;
      return;
    }
    const double length = seconds - last_seconds_;
    // Threads finish in bursts: what comes within a short while is one step.
    const bool enough = weight_ > 0 ? length >= kShortestStep : length > 0;
    if (done <= last_done_ || !enough) return;
    // A stall says little about what comes after it, nor does it make forget what was before it.
    const double weight = std::min(length, kLongestStep);
    const double kept = std::exp(-weight / kTimeConstant);
    sum_ = sum_ * kept + weight * std::log((done - last_done_) / length);
    weight_ = weight_ * kept + weight;
    last_seconds_ = seconds;
    last_done_ = done;
  }

  /// 0: not known yet.
  double per_second() const { return weight_ > 0 ? std::exp(sum_ / weight_) : 0; }

 private:
  static constexpr double kTimeConstant = 10;  // seconds
  static constexpr double kShortestStep = 0.5;
  static constexpr double kLongestStep = 2;

  bool started_ = false;
  double last_seconds_ = 0, last_done_ = 0;
  double sum_ = 0, weight_ = 0;  // of logarithms of rates, of seconds
};

}  // namespace ria::cli
