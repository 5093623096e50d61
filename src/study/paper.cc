// SPDX-License-Identifier: MIT
#include "study/paper.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ria {

namespace {

constexpr const char* kImpossible = "†";

/// Published number of queries of a set by its name; 0: no set, or any number.
int queries_of(const std::string& dataset) {
  for (const DatasetInfo& info : datasets()) {
    if (info.name == dataset) return info.parts.empty() ? 0 : info.parts.front().queries;
  }
  return 0;
}

std::string title_of(const PaperTable::Column& column) {
  if (!column.title.empty()) return column.title;
  return column.k == 0 ? column.dataset : fmt::format("{} R@{}", column.dataset, column.k);
}

/// A figure as the paper prints it, marked if it is a recall that cannot be.
StudyField field_of(const PaperTable& paper, std::size_t row, std::size_t column) {
  const double value = paper.rows[row].values[column];
  if (std::isnan(value)) return {"-", {}, false};
  const auto& [dataset, k, decimals, title] = paper.columns[column];
  const int queries = k == 0 ? 0 : queries_of(dataset);
  const bool possible = queries == 0 || attainable(value, queries, decimals);
  return {fmt::format("{:.{}f}{}", value, decimals, possible ? "" : kImpossible), value, false};
}

StudyTable table_of(const PaperTable& paper) {
  StudyTable table;
  table.title = fmt::format("The paper's {}", paper.label);
  table.of_paper = true;
  for (const PaperTable::Column& column : paper.columns) table.columns.push_back(title_of(column));
  bool any_impossible = false;
  for (std::size_t r = 0; r < paper.rows.size(); ++r) {
    table.rows.push_back({paper.rows[r].name, {}});
    for (std::size_t c = 0; c < paper.columns.size(); ++c) {
      table.rows.back().fields.push_back(field_of(paper, r, c));
      any_impossible |= table.rows.back().fields.back().text.ends_with(kImpossible);
    }
  }
  table.caption = fmt::format("As printed; network {} where a row names no other.", paper.backbone);
  if (any_impossible) {
    table.caption += fmt::format(
        " {}: no whole number of the set's queries gives this figure, so it is of no single run.",
        kImpossible);
  }
  return table;
}

std::vector<std::string> dataset_names(const PaperTable& paper) {
  std::vector<std::string> names;
  for (const PaperTable::Column& column : paper.columns) {
    if (std::find(names.begin(), names.end(), column.dataset) == names.end() &&
        queries_of(column.dataset) > 0) {
      names.push_back(column.dataset);
    }
  }
  return names;
}

/// Position of the paper's row that may stand beside a row of the study.
std::optional<std::size_t> comparable_row(const PaperTable& paper,
                                          const std::string& name,
                                          const std::string& backbone) {
  for (std::size_t r = 0; r < paper.rows.size(); ++r) {
    const bool same_network = paper.rows[r].own_network || backbone == paper.backbone;
    if (paper.rows[r].name == name && same_network) return r;
  }
  return std::nullopt;
}

std::string other_setting(const PaperTable& paper,
                          const std::vector<std::string>& its_datasets,
                          const Dataset& dataset,
                          const StudyOptions& options) {
  return fmt::format(
      "Not the paper's setting: its {} has {} with {}, this is {} with {}. Its figures "
      "are shown apart and cannot be compared one by one.",
      paper.label,
      fmt::join(its_datasets, ", "),
      paper.backbone,
      dataset.name,
      options.backbone);
}

/// How many rows of the table got a figure of the paper's beside theirs.
int add_columns(const PaperTable& paper,
                const std::string& dataset,
                const std::string& backbone,
                StudyTable& table) {
  int matched = 0;
  for (const StudyTable::Row& row : table.rows) {
    matched += comparable_row(paper, row.name, backbone).has_value();
  }
  bool of_the_paper = false;
  for (std::size_t c = 0; c < paper.columns.size(); ++c) {
    if (matched == 0 || paper.columns[c].dataset != dataset) continue;
    of_the_paper = true;
    const int k = paper.columns[c].k;
    table.columns.push_back(k == 0 ? "paper" : fmt::format("paper R@{}", k));
    for (StudyTable::Row& row : table.rows) {
      const auto r = comparable_row(paper, row.name, backbone);
      row.fields.push_back(r ? field_of(paper, *r, c) : StudyField{"-", {}, false});
    }
  }
  return of_the_paper ? matched : 0;
}

}  // namespace

bool attainable(double percent, int queries, int decimals) {
  const auto right = static_cast<int>(std::lround(percent * queries / 100));
  for (int k = std::max(0, right - 1); k <= std::min(queries, right + 1); ++k) {
    // Half a unit of the last digit, and of the next: 34.746 may have been 34.75 and then 34.8.
    const double half = 0.55 * std::pow(10, -decimals) + 1e-9;
    if (std::abs(100.0 * k / queries - percent) <= half) return true;
  }
  return false;
}

void set_beside_paper(const PaperTable& paper,
                      const Dataset& dataset,
                      const StudyOptions& options,
                      StudyResult& result) {
  const int matched = add_columns(paper, dataset.name, options.backbone, result.tables.front());
  result.notes.insert(result.notes.begin(),
                      matched > 0
                          ? fmt::format("{} is a dataset of the paper's {}; its figures stand "
                                        "beside {} of {} rows, which run its networks.",
                                        dataset.name,
                                        paper.label,
                                        matched,
                                        result.tables.front().rows.size())
                          : other_setting(paper, dataset_names(paper), dataset, options));
  result.tables.push_back(table_of(paper));
}

void append_paper_grids(const std::vector<PaperTable>& grids,
                        const Dataset& dataset,
                        const StudyOptions& options,
                        StudyResult& result) {
  std::vector<std::string> names;
  for (const PaperTable& grid : grids) {
    for (const std::string& name : dataset_names(grid)) names.push_back(name);
    result.tables.push_back(table_of(grid));
  }
  const bool same = std::find(names.begin(), names.end(), dataset.name) != names.end() &&
                    options.backbone == grids.front().backbone;
  result.notes.insert(
      result.notes.begin(),
      same ? fmt::format("Dataset and backbone are those of the paper's grid on {}.", dataset.name)
           : other_setting(grids.front(), names, dataset, options));
}

}  // namespace ria
