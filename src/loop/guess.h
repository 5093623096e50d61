// SPDX-License-Identifier: MIT
// What one picture says by itself.
#pragma once

#include <cstddef>
#include <vector>

#include "ria/map.h"

namespace ria {

/// The first `count` by falling score, of equals the lower number.
void keep_most_alike(std::vector<Match>& matches, std::size_t count);

/// Mean and deviation of values as they come.
class Spread {
 public:
  void add(double value) {
    sum_ += value;
    squares_ += value * value;
    ++count_;
  }
  double mean() const { return sum_ / count_; }
  double deviation() const;

 private:
  double sum_ = 0, squares_ = 0, count_ = 0;
};

}  // namespace ria
