// SPDX-License-Identifier: MIT
// What one picture says by itself, and which places it has to be compared with for that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "ria/map.h"

namespace ria {

/// The first `count` by falling score, of equals the lower number.
void keep_most_alike(std::vector<Match>& matches, std::size_t count);

/// Which places to compare a picture with: the most alike, and as many away from the first of them.
/// Else those around one place take all the room, and nothing says how well pictures of elsewhere
/// agree. best_where(wanted) gives the most alike of which wanted(match) is true, best first.
template <typename BestWhere>
std::vector<Match> with_rivals(const BestWhere& best_where, int around) {
  std::vector<Match> alike = best_where([](const Match&) { return true; });
  if (alike.empty()) return alike;
  const auto is_away = [around, first = alike.front().place](const Match& one) {
    return std::abs(one.place - first) > around;
  };
  const std::vector<Match> rivals = best_where(is_away);  // with those that are in `alike`
  std::erase_if(alike, is_away);
  alike.insert(alike.end(), rivals.begin(), rivals.end());
  return alike;
}

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
