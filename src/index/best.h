// SPDX-License-Identifier: MIT
// The best of many answers.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "ria/map.h"

namespace ria {

inline bool better(const Match& a, const Match& b) {
  return a.score > b.score || (a.score == b.score && a.place < b.place);
}

/// The k best of what was shown; the same whatever the order was.
class Best {
 public:
  explicit Best(std::size_t k) : k_(k) {}

  /// Whether it is one of the best so far.
  bool wants(const Match& match) const {
    // What a damaged file makes of a score, which is no number, is no answer.
    if (!(match.score >= -std::numeric_limits<float>::max())) return false;
    return heap_.size() < k_ || better(match, heap_.front());
  }

  bool full() const { return heap_.size() == k_ && k_ > 0; }
  /// The score of the last of them, once it is full.
  float least() const { return heap_.front().score; }

  void show(const Match& match, const SearchOptions& options = {}) {
    if (!wants(match)) return;
    if (options.allowed && !options.allowed(match.place)) return;
    if (heap_.size() == k_) {
      std::pop_heap(heap_.begin(), heap_.end(), better);
      heap_.pop_back();
    }
    heap_.push_back(match);
    std::push_heap(heap_.begin(), heap_.end(), better);
  }

  void show_all(const Best& other) {
    for (const Match& match : other.heap_) show(match);
  }

  std::vector<Match> sorted() && {
    std::sort(heap_.begin(), heap_.end(), better);
    return std::move(heap_);
  }

 private:
  std::size_t k_;
  std::vector<Match> heap_;  // the worst on top
};

}  // namespace ria
