// SPDX-License-Identifier: MIT
#include "util/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace ria {

namespace {

std::string folded(std::string_view text) {
  std::string out(text.substr(std::min(text.find_first_not_of("-_"), text.size())));
  for (char& c : out) {
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

/// Letters changed, added, left out or swapped with the next (optimal string alignment).
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// How far apart, in letters; nothing where too far to have been meant.
std::optional<std::size_t> cost(const std::string& word, const std::string& name) {
  constexpr std::size_t kLongEnough = 3;  // to be a part of a name by intent
  const std::size_t longer = std::max(word.size(), name.size());
  const std::size_t allowed = longer < 2 ? 0 : 1 + longer / 6;
  // An absurd word is not worth the time, which grows with the product of the lengths.
  const std::size_t apart = longer > 200 ? longer : edits(word, name);
  std::optional<std::size_t> least;
  const auto consider = [&](bool near, std::size_t letters) {
    if (near && (!least || letters < *least)) least = letters;
  };
  consider(apart <= allowed, apart);
  consider(word.size() >= kLongEnough && name.starts_with(word), 1);
  consider(word.size() >= kLongEnough && name.find(word) != name.npos, 2);
  consider(name.size() >= kLongEnough && word.starts_with(name), 2);
  return least;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view word,
                                       const std::vector<std::string>& known,
                                       std::size_t most) {
  const std::string meant = folded(word);
  std::optional<std::size_t> least;
  std::vector<std::string> nearest;
  for (const std::string& name : known) {
    const auto apart = cost(meant, folded(name));
    if (!apart || (least && *apart > *least)) continue;
    if (least && *apart < *least) nearest.clear();
    least = apart;
    if (nearest.size() < most) nearest.push_back(name);
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::string> names = nearest_names(word, known);
  if (names.empty()) return "";
  const std::string last = names.back();
  names.pop_back();
  return fmt::format(
      "did you mean {}{}{}? ", fmt::join(names, ", "), names.empty() ? "" : " or ", last);
}

std::string unknown_name(std::string_view what,
                         std::string_view word,
                         const std::vector<std::string>& known,
                         std::string_view listed_by) {
  const std::string guess = did_you_mean(word, known);
  const bool guessed = !guess.empty();
  return fmt::format("unknown {} '{}'{}{}{}",
                     what,
                     word,
                     guessed ? ": " : ", ",
                     guess,
                     listed_by.empty()
                         ? fmt::format("{}nown: {}", guessed ? 'K' : 'k', fmt::join(known, ", "))
                         : fmt::format("'{}' lists all", listed_by));
}

}  // namespace ria
