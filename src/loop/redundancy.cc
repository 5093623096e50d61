// SPDX-License-Identifier: MIT
#include "loop/redundancy.h"

#include <algorithm>
#include <numeric>

namespace ria {

namespace {

double cosine(const Matrix& rows, int a, int b) {
  const auto first = rows.row(a), second = rows.row(b);
  return std::inner_product(first.begin(), first.end(), second.begin(), 0.0);
}

}  // namespace

void Redundancy::restore(const Map& map) {
  constexpr int kTogether = 1000;  // descriptors in memory at once
  std::vector<int> numbers;
  map.each_place([&](int number, const Place&) { numbers.push_back(number); });
  for (const int number : numbers) places_[number] = {};
  for (std::size_t first = 0; first + 1 < numbers.size(); first += kTogether) {
    const std::size_t end = std::min(numbers.size(), first + kTogether + 1);
    const std::vector<int> some(numbers.begin() + static_cast<std::ptrdiff_t>(first),
                                numbers.begin() + static_cast<std::ptrdiff_t>(end));
    const Matrix rows = map.descriptors(some);
    for (int i = 0; i + 1 < rows.rows(); ++i) places_[some[i]].next = cosine(rows, i, i + 1);
  }
}

void Redundancy::compare(const Map& map, int place, int next) {
  places_[place].next = cosine(map.descriptors({place, next}), 0, 1);
}

void Redundancy::add(const Map& map, int place) {
  const int last = places_.empty() ? -1 : places_.rbegin()->first;
  places_[place] = {};
  if (last >= 0) compare(map, last, place);
}

void Redundancy::show_again(int earlier, int later, double how_alike) {
  const auto found = places_.find(earlier);
  if (found == places_.end() || how_alike <= found->second.again) return;
  found->second.again = how_alike;
  found->second.by = later;
}

std::optional<int> Redundancy::most(int before) const {
  std::optional<int> most;
  double largest = -2, behind = -1;
  for (const auto& [place, shown] : places_) {
    if (place >= before) break;
    const double elsewhere = std::max({behind, shown.next, shown.again});
    if (elsewhere > largest) {
      largest = elsewhere;
      most = place;
    }
    behind = shown.next;
  }
  return most;
}

void Redundancy::forget(const Map& map, int place) {
  const auto found = places_.find(place);
  if (found == places_.end()) return;
  const auto after = places_.erase(found);
  if (after != places_.begin()) {
    const int before = std::prev(after)->first;
    if (after == places_.end()) {
      places_[before].next = -1;
    } else {
      compare(map, before, after->first);
    }
  }
  for (auto& [number, shown] : places_) {
    if (shown.by == place) shown.by = -1, shown.again = -1;
  }
}

}  // namespace ria
