// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "ria/report.h"

namespace ria {

namespace {

enum class Better { kNone, kHigher, kLower };
using Values = std::vector<std::optional<double>>;

/// Equal means equal as shown: two methods at "98.0" share the mark whatever the hidden digits.
ComparisonColumn make_column(std::string title, const Values& values, int decimals, Better better) {
  ComparisonColumn column{std::move(title), {}, std::vector<bool>(values.size(), false)};
  std::optional<double> best;
  for (const auto& value : values) {
    column.cells.push_back(value ? fmt::format("{:.{}f}", *value, decimals) : "-");
    if (!value) continue;
    if (!best || (better == Better::kHigher ? *value > *best : *value < *best)) best = value;
  }
  if (better == Better::kNone || values.size() < 2 || !best) return column;
  const std::string shown = fmt::format("{:.{}f}", *best, decimals);
  for (std::size_t i = 0; i < values.size(); ++i) column.best[i] = column.cells[i] == shown;
  return column;
}

Values collect(const std::vector<Evaluation>& evaluations,
               const std::function<std::optional<double>(const Evaluation&)>& number) {
  Values values;
  std::transform(evaluations.begin(), evaluations.end(), std::back_inserter(values), number);
  return values;
}

/// One core's time: methods that are run together share the clock, not their own cost.
std::optional<double> ms_per_picture(const Evaluation& evaluation) {
  double seconds = 0;
  for (const char* stage : {"decode", "backbone", "aggregate"}) {
    const auto spent = evaluation.seconds.find(stage);
    if (spent != evaluation.seconds.end()) seconds += spent->second;
  }
  const int pictures = evaluation.queries + evaluation.database;
  if (seconds <= 0 || pictures <= 0) return std::nullopt;
  return 1000 * seconds / pictures;
}

}  // namespace

std::vector<ComparisonColumn> comparison_columns(const std::vector<Evaluation>& evaluations) {
  std::vector<ComparisonColumn> columns;
  columns.push_back(make_column(
      "dim",
      collect(evaluations, [](const Evaluation& one) { return std::optional<double>(one.dim); }),
      0,
      Better::kNone));

  std::set<int> ks;
  for (const Evaluation& one : evaluations) {
    for (const auto& [k, percent] : one.recall) ks.insert(k);
  }
  for (const int k : ks) {
    const auto percent = [k](const Evaluation& one) -> std::optional<double> {
      const auto found = one.recall.find(k);
      return found == one.recall.end() ? std::nullopt : std::optional(found->second);
    };
    columns.push_back(
        make_column(fmt::format("R@{}", k), collect(evaluations, percent), 1, Better::kHigher));
  }

  const Values times = collect(evaluations, ms_per_picture);
  if (std::any_of(times.begin(), times.end(), [](const auto& time) { return time.has_value(); })) {
    columns.push_back(make_column("ms/picture", times, 1, Better::kLower));
  }
  return columns;
}

std::string comparison_table(const std::vector<Evaluation>& evaluations) {
  const std::vector<ComparisonColumn> columns = comparison_columns(evaluations);
  std::size_t name_width = std::string_view("method").size();
  for (const Evaluation& one : evaluations) name_width = std::max(name_width, one.method.size());

  std::string table = fmt::format("{:<{}}", "method", name_width);
  std::vector<std::size_t> widths;
  for (const ComparisonColumn& column : columns) {
    std::size_t width = column.title.size();
    for (const std::string& cell : column.cells) width = std::max(width, cell.size());
    widths.push_back(width);
    fmt::format_to(std::back_inserter(table), "  {:>{}} ", column.title, width);
  }
  const auto end_line = [&table] {
    table.erase(table.find_last_not_of(' ') + 1);
    table += '\n';
  };
  end_line();
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    fmt::format_to(std::back_inserter(table), "{:<{}}", evaluations[i].method, name_width);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const char mark = columns[j].best[i] ? '*' : ' ';
      fmt::format_to(std::back_inserter(table), "  {:>{}}{}", columns[j].cells[i], widths[j], mark);
    }
    end_line();
  }
  return table;
}

}  // namespace ria
