// SPDX-License-Identifier: MIT
#include "dataset/natural_order.h"

#include <algorithm>

namespace ria {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the leading run of digits, or of anything else, from `text`.
std::string_view take(std::string_view& text, bool digits) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end]) == digits) ++end;
  const std::string_view run = text.substr(0, end);
  text.remove_prefix(end);
  return run;
}

/// Of any length: 7 zeros and 300 digits are fine.
int compare_numbers(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  // Text always comes first, empty where a name begins with a number.
  for (bool digits = false; !a.empty() && !b.empty(); digits = !digits) {
    const std::string_view run_a = take(a, digits), run_b = take(b, digits);
    const int order = digits ? compare_numbers(run_a, run_b) : run_a.compare(run_b);
    if (order != 0) return order < 0;
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

}  // namespace ria
