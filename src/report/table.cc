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
  const auto contestants = std::count_if(
      values.begin(), values.end(), [](const auto& value) { return value.has_value(); });
  if (better == Better::kNone || contestants < 2) return column;
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

std::optional<double> seconds_of(const Evaluation& evaluation, const std::string& stage) {
  const auto spent = evaluation.seconds.find(stage);
  return spent == evaluation.seconds.end() ? std::nullopt : std::optional(spent->second);
}

std::optional<double> ms_per_query(const Evaluation& evaluation, const char* stage) {
  const auto seconds = seconds_of(evaluation, stage);
  if (!seconds || evaluation.queries <= 0) return std::nullopt;
  return 1000 * *seconds / evaluation.queries;
}

/// Adds a column unless nobody has a number for it.
void add_measured(std::vector<ComparisonColumn>& columns,
                  const char* title,
                  const Values& values,
                  int decimals,
                  Better better) {
  if (std::none_of(values.begin(), values.end(), [](const auto& one) { return one.has_value(); })) {
    return;
  }
  columns.push_back(make_column(title, values, decimals, better));
}

ComparisonColumn dim_column(const std::vector<Evaluation>& evaluations) {
  const auto dim = [](const Evaluation& one) { return std::optional<double>(one.dim); };
  return make_column("dim", collect(evaluations, dim), 0, Better::kNone);
}

/// One core's time: methods that are run together share the clock, not their own cost.
std::optional<double> ms_per_picture(const Evaluation& evaluation) {
  double seconds = 0;
  for (const char* stage : {"decode", "backbone", "aggregate", "local"}) {
    const auto spent = evaluation.seconds.find(stage);
    if (spent != evaluation.seconds.end()) seconds += spent->second;
  }
  const int pictures = evaluation.queries + evaluation.database;
  if (seconds <= 0 || pictures <= 0) return std::nullopt;
  return 1000 * seconds / pictures;
}

}  // namespace

std::vector<int> recall_ks(const std::vector<Evaluation>& evaluations) {
  std::set<int> ks;
  for (const Evaluation& one : evaluations) {
    for (const auto& [k, percent] : one.recall) ks.insert(k);
  }
  return {ks.begin(), ks.end()};
}

ComparisonColumn recall_column(const std::vector<Evaluation>& evaluations, int k) {
  const auto percent = [k](const Evaluation& one) -> std::optional<double> {
    const auto found = one.recall.find(k);
    return found == one.recall.end() ? std::nullopt : std::optional(found->second);
  };
  return make_column(fmt::format("R@{}", k), collect(evaluations, percent), 1, Better::kHigher);
}

std::vector<std::string> measured_stages(const std::vector<Evaluation>& evaluations) {
  std::vector<std::string> stages;
  for (const char* stage : {"decode", "backbone", "aggregate", "local", "search", "wall"}) {
    const bool measured = std::any_of(evaluations.begin(), evaluations.end(), [&](const auto& one) {
      return one.seconds.count(stage) > 0;
    });
    if (measured) stages.emplace_back(stage);
  }
  return stages;
}

std::vector<ComparisonColumn> comparison_columns(const std::vector<Evaluation>& evaluations) {
  std::vector<ComparisonColumn> columns = {dim_column(evaluations)};
  for (const int k : recall_ks(evaluations)) columns.push_back(recall_column(evaluations, k));
  const Values times = collect(evaluations, ms_per_picture);
  add_measured(columns, "ms/picture", times, 1, Better::kLower);
  return columns;
}

std::vector<ComparisonColumn> recall_columns(const std::vector<Evaluation>& evaluations) {
  std::vector<ComparisonColumn> columns;
  for (const int k : recall_ks(evaluations)) {
    columns.push_back(recall_column(evaluations, k));
    for (const Evaluation& one : evaluations) {
      const auto bounds = one.interval.find(k);
      columns.back().bounds.push_back(
          bounds == one.interval.end()
              ? ""
              : fmt::format("{:.1f}-{:.1f}", bounds->second.low, bounds->second.high));
    }
  }
  const auto judged = [&](double PrecisionRecall::*field) {
    return collect(evaluations, [field](const Evaluation& one) -> std::optional<double> {
      if (one.precision_recall.points.empty()) return std::nullopt;
      return 100 * (one.precision_recall.*field);
    });
  };
  add_measured(columns, "AP", judged(&PrecisionRecall::average_precision), 1, Better::kHigher);
  add_measured(
      columns, "R@100P", judged(&PrecisionRecall::recall_at_full_precision), 1, Better::kHigher);
  return columns;
}

std::vector<ComparisonColumn> cost_columns(const std::vector<Evaluation>& evaluations) {
  std::vector<ComparisonColumn> columns = {dim_column(evaluations)};
  const auto bytes = [](const Evaluation& one) {
    return std::optional(static_cast<double>(one.dim) * sizeof(float));
  };
  columns.push_back(make_column("bytes", collect(evaluations, bytes), 0, Better::kLower));
  add_measured(columns, "ms/picture", collect(evaluations, ms_per_picture), 1, Better::kLower);
  const auto ms = [](const Evaluation& one) { return ms_per_query(one, "search"); };
  add_measured(columns, "search ms/query", collect(evaluations, ms), 2, Better::kLower);
  return columns;
}

std::vector<ComparisonColumn> stage_columns(const std::vector<Evaluation>& evaluations) {
  std::vector<ComparisonColumn> columns;
  for (const std::string& stage : measured_stages(evaluations)) {
    const auto seconds = [&](const Evaluation& one) { return seconds_of(one, stage); };
    columns.push_back(make_column(stage, collect(evaluations, seconds), 2, Better::kNone));
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
