// SPDX-License-Identifier: MIT
// Runs a declared table of recalls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "study/study.h"

namespace ria {

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

/// Whether a study has rows of trained models, which take the place of its other rows.
bool has_runs(const RecallStudy& study) {
  return std::any_of(study.rows.begin(), study.rows.end(), [](const RecallRow& row) {
    return row.method.find("RUNS") != std::string::npos;
  });
}

/// The rows that can be asked for, with their methods spelled out.
std::vector<RecallRow> rows_to_run(const RecallStudy& study, const StudyOptions& options) {
  std::vector<RecallRow> rows;
  for (const RecallRow& row : study.rows) {
    const auto needs = [&](const char* what) { return row.method.find(what) != std::string::npos; };
    if (needs("OTHER") && options.other_pictures.empty()) continue;
    if (needs("RUNS") == options.runs.empty() && has_runs(study)) continue;
    std::string method = replaced(row.method, "{}", options.backbone);
    method = replaced(method, "RUNS", options.runs.string());
    rows.push_back({row.name, replaced(method, "OTHER", options.other_pictures)});
  }
  return rows;
}

std::vector<StudyField> fields_of(const Evaluation& e) {
  const auto recall = [&](int k) {
    const auto it = e.recall.find(k);
    return it == e.recall.end() ? StudyField{"-", {}, false} : number_field(it->second);
  };
  const auto bounds = e.interval.find(1);
  const std::string interval =
      bounds == e.interval.end()
          ? "-"
          : fmt::format("{:.1f}-{:.1f}", bounds->second.low, bounds->second.high);
  const double pictures = std::max(1, e.queries + e.database);
  const double ms = 1e3 * (e.seconds.at("backbone") + e.seconds.at("aggregate")) / pictures;
  return {number_field(e.dim, "{:.0f}"),
          recall(1),
          {interval, {}, false},
          recall(5),
          recall(10),
          number_field(ms)};
}

/// What is kept of a place, and times of one core and one picture.
std::vector<StudyField> costs_of(const Evaluation& e) {
  const auto seconds = [&](const char* stage) {
    const auto it = e.seconds.find(stage);
    return it == e.seconds.end() ? 0.0 : it->second;
  };
  const double pictures = std::max(1, e.queries + e.database);
  const auto bytes = static_cast<double>(e.dim * sizeof(float) + e.local_bytes);
  return {number_field(bytes, "{:.0f}"),
          number_field(1e3 * (seconds("aggregate") + seconds("local")) / pictures, "{:.2f}"),
          number_field(1e3 * seconds("search") / std::max(1, e.queries), "{:.2f}")};
}

}  // namespace

StudyResult run_recall_study(const RecallStudy& study,
                             const Dataset& dataset,
                             const StudyOptions& options) {
  StudyResult result;
  result.notes = study.notes;
  const std::vector<RecallRow> rows = rows_to_run(study, options);
  std::vector<std::string> methods;
  for (const RecallRow& row : rows) methods.push_back(row.method);
  const auto all = evaluate_cells(methods, dataset, options, result.notes);
  StudyTable table;
  table.title = fmt::format("{} on {}", study.info.title, dataset.name);
  table.columns = {"dim", "R@1", "95 %", "R@5", "R@10", "ms/picture"};
  if (study.costs) {
    for (const char* cost : {"bytes/place", "head ms", "ms/query"}) table.columns.push_back(cost);
  }
  for (std::size_t m = 0; m < all.size(); ++m) {
    if (all[m].queries == 0) continue;
    table.rows.push_back({rows[m].name, fields_of(all[m])});
    if (study.costs) {
      for (StudyField& field : costs_of(all[m])) table.rows.back().fields.push_back(field);
    }
    result.evaluations.push_back(all[m]);
  }
  if (table.rows.empty()) {
    throw std::runtime_error(fmt::format(
        "study {}: no method could be run; {}", study.info.name, fmt::join(result.notes, "; ")));
  }
  for (const std::size_t column : {1, 3, 4}) mark_best(table, column);
  table.caption = "ms/picture: network and head, one core; features from a cache cost no network.";
  if (study.costs) {
    table.caption +=
        " bytes/place: descriptor and what re-ranking keeps; head ms: pooling, and what re-ranking "
        "keeps, a picture on one core; ms/query: search on all cores, with re-ranking less the "
        "pairs a row above has compared.";
  }
  result.tables.push_back(std::move(table));
  if (study.paper != nullptr) set_beside_paper(*study.paper, dataset, options, result);
  return result;
}

}  // namespace ria
