// SPDX-License-Identifier: MIT
#include "dataset/positives.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace ria {

namespace fs = std::filesystem;

/// The database is walked in order of its east coordinate, so that a large map costs only its
/// neighbourhood. Squares are compared, not roots: published counts were made that way, and
/// coordinates rounded to centimetres do lie on the circle.
std::vector<std::vector<int>> within(const Positions& queries,
                                     const Positions& database,
                                     double radius) {
  std::vector<int> order;
  for (std::size_t i = 0; i < database.size(); ++i) {
    if (database[i]) order.push_back(static_cast<int>(i));
  }
  const auto east = [&](int i) { return (*database[i])[0]; };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return east(a) < east(b); });
  // A hair wider than the circle: the squares decide.
  const double reach = radius * (1 + 1e-9) + 1e-6;
  std::vector<std::vector<int>> positives(queries.size());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    if (!queries[q]) continue;
    const auto& [x, y] = *queries[q];
    auto it = std::lower_bound(
        order.begin(), order.end(), x - reach, [&](int i, double v) { return east(i) < v; });
    for (; it != order.end() && east(*it) <= x + reach; ++it) {
      const double dx = x - east(*it), dy = y - (*database[*it])[1];
      if (dx * dx + dy * dy <= radius * radius) positives[q].push_back(*it);
    }
    std::sort(positives[q].begin(), positives[q].end());
  }
  return positives;
}

std::vector<std::vector<int>> near_frames(std::size_t queries,
                                          std::size_t database,
                                          int tolerance) {
  std::vector<std::vector<int>> positives(queries);
  for (std::size_t q = 0; q < queries; ++q) {
    const std::int64_t frame = static_cast<std::int64_t>(q);
    const std::int64_t first = std::max<std::int64_t>(0, frame - tolerance);
    const std::int64_t end = std::min<std::int64_t>(database, frame + tolerance + 1);
    for (std::int64_t i = first; i < end; ++i) positives[q].push_back(static_cast<int>(i));
  }
  return positives;
}

void settle_positives(Loading& loading,
                      const PositiveLists& lists,
                      const fs::path& file,
                      bool runs_over) {
  Dataset& data = loading.dataset;
  const std::string name = file.string();
  if (lists.size() != data.queries.size()) {
    loading.problems.push_back(fmt::format(
        "{}: {} lists of positives for {} queries", name, lists.size(), data.queries.size()));
  }
  const std::int64_t places = static_cast<std::int64_t>(data.database.size());
  std::size_t outside = 0, rows = 0, repeated = 0;
  data.positives.assign(data.queries.size(), {});
  for (std::size_t q = 0; q < std::min(lists.size(), data.queries.size()); ++q) {
    std::vector<int>& kept = data.positives[q];
    for (const std::int64_t place : lists[q]) {
      if (place >= 0 && place < places) kept.push_back(static_cast<int>(place));
    }
    outside += lists[q].size() - kept.size();
    rows += lists[q].size() != kept.size();
    std::sort(kept.begin(), kept.end());
    const auto end = std::unique(kept.begin(), kept.end());
    repeated += static_cast<std::size_t>(kept.end() - end);
    kept.erase(end, kept.end());
  }
  if (outside > 0) {
    (runs_over ? loading.notes : loading.problems)
        .push_back(fmt::format("{}: {} positives of {} queries are outside the {} places and were "
                               "left out",
                               name,
                               outside,
                               rows,
                               places));
  }
  if (repeated > 0) {
    loading.notes.push_back(fmt::format("{}: {} positives are listed twice", name, repeated));
  }
}

namespace {

void remark_unplaced(Loading& loading,
                     const Positions& positions,
                     const std::vector<fs::path>& files,
                     const char* what) {
  const auto none = [](const auto& position) { return !position; };
  const auto count = std::count_if(positions.begin(), positions.end(), none);
  if (count == 0) return;
  const auto first = std::find_if(positions.begin(), positions.end(), none) - positions.begin();
  const std::string name = files[static_cast<std::size_t>(first)].string();
  if (count == static_cast<std::ptrdiff_t>(positions.size())) {
    throw std::runtime_error(
        fmt::format("{}: no position in the name, '@east@north@...' was expected", name));
  }
  loading.problems.push_back(
      fmt::format("{} {} have no position, the first is {}", count, what, name));
}

}  // namespace

void settle_positions(Loading& loading, Positions database, Positions queries, double radius) {
  Dataset& data = loading.dataset;
  remark_unplaced(loading, database, data.database, "database pictures");
  remark_unplaced(loading, queries, data.queries, "queries");
  data.positives = within(queries, database, radius);
  data.database_positions = std::move(database);
  data.query_positions = std::move(queries);
}

}  // namespace ria
