// SPDX-License-Identifier: MIT
#include "study/study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ria/version.h"
#include "util/json.h"

namespace ria {

namespace {

using nlohmann::json;

struct OtherStudy {
  StudyInfo info;
  StudyResult (*run)(const Dataset&, const StudyOptions&);
};

const std::vector<OtherStudy>& other_studies() {
  static const std::vector<OtherStudy> all = {
      {{"dimension",
        "Projected dimension and iterations",
        "table 7",
        "d, exact and Newton-Schulz root with K steps: recall and measured speed-up"},
       study_dimension},
      {{"drift",
        "Drift under brightness and rotation",
        "figure 3",
        "1 - cosine of a picture's descriptor and that of its darkened or turned copy"},
       study_drift},
      {{"homography",
        "Drift under random homographies",
        "appendix, homography drift",
        "1 - cosine under projective changes of growing size"},
       study_homography},
      {{"ns-error",
        "Error of the Newton-Schulz root",
        "appendix, approximation error",
        "relative Frobenius error to the exact root for K steps"},
       study_ns_error},
      {{"seeds",
        "Seeds of the random projection",
        "appendix, seed sensitivity",
        "recall for the paper's ten seeds"},
       study_seeds},
      {{"tau-eps",
        "Threshold and regularisation",
        "appendix, sensitivity grid",
        "R@1 on a grid of 6 x 6 values of tau and eps"},
       study_tau_eps}};
  return all;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

/// Width of text on a terminal: bytes that begin a character.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

std::string table_text(const StudyTable& table) {
  std::vector<std::size_t> widths{0};
  for (const StudyTable::Row& row : table.rows) widths[0] = std::max(widths[0], width_of(row.name));
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    widths.push_back(width_of(table.columns[c]));
    for (const StudyTable::Row& row : table.rows) {
      widths.back() =
          std::max(widths.back(), width_of(row.fields[c].text) + (row.fields[c].best ? 1 : 0));
    }
  }
  std::string out = table.title + "\n" + padded("", widths[0]);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    out += "  " + padded(table.columns[c], widths[c + 1]);
  }
  out += "\n";
  for (const StudyTable::Row& row : table.rows) {
    out += padded(row.name, widths[0]);
    for (std::size_t c = 0; c < row.fields.size(); ++c) {
      out += "  " + padded(row.fields[c].text + (row.fields[c].best ? "*" : ""), widths[c + 1]);
    }
    out += "\n";
  }
  return out + (table.caption.empty() ? "" : table.caption + "\n");
}

json table_json(const StudyTable& table) {
  json rows = json::array();
  for (const StudyTable::Row& row : table.rows) {
    json fields = json::array();
    for (const StudyField& field : row.fields) {
      fields.push_back(field.value ? json(*field.value) : json(field.text));
    }
    rows.push_back({{"name", row.name}, {"fields", std::move(fields)}});
  }
  return {{"title", table.title},
          {"columns", table.columns},
          {"rows", std::move(rows)},
          {"caption", table.caption}};
}

json plot_json(const StudyPlot& plot) {
  json series = json::array();
  for (const StudyPlot::Series& line : plot.series) {
    series.push_back({{"name", line.name},
                      {"x", line.x},
                      {"y", line.y},
                      {"low", line.low},
                      {"high", line.high}});
  }
  return {{"title", plot.title},
          {"x_label", plot.x_label},
          {"y_label", plot.y_label},
          {"series", std::move(series)}};
}

json heat_map_json(const StudyHeatMap& map) {
  json values = json::array();
  for (Eigen::Index i = 0; i < map.values.rows(); ++i) {
    json row = json::array();
    for (Eigen::Index j = 0; j < map.values.cols(); ++j) row.push_back(map.values(i, j));
    values.push_back(std::move(row));
  }
  return {{"title", map.title},
          {"row_label", map.row_label},
          {"column_label", map.column_label},
          {"rows", map.rows},
          {"columns", map.columns},
          {"values", std::move(values)}};
}

StudyField percent(double value) { return {fmt::format("{:.1f}", value), value, false}; }

std::string paper_text(const std::vector<PaperValue>& values) {
  std::vector<std::string> parts;
  for (const PaperValue& value : values)
    parts.push_back(fmt::format("{} {}", value.dataset, value.recall1));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

void StudyOptions::validate() const {
  if (pictures < 1) {
    throw std::invalid_argument(fmt::format("pictures is {}, at least 1 was expected", pictures));
  }
  method_name("", backbone, "ria", 0);
  method.validate();
}

const std::vector<StudyInfo>& studies() {
  static const std::vector<StudyInfo> all = [] {
    std::vector<StudyInfo> infos;
    for (const RecallStudy& study : recall_studies()) infos.push_back(study.info);
    for (const OtherStudy& study : other_studies()) infos.push_back(study.info);
    return infos;
  }();
  return all;
}

void mark_best(StudyTable& table, std::size_t column, bool largest) {
  double best = 0;
  bool any = false;
  for (const StudyTable::Row& row : table.rows) {
    if (!row.fields[column].value) continue;
    const double value = *row.fields[column].value;
    best = !any ? value : largest ? std::max(best, value) : std::min(best, value);
    any = true;
  }
  for (StudyTable::Row& row : table.rows) {
    StudyField& field = row.fields[column];
    field.best = any && field.value && *field.value == best;
  }
}

std::vector<std::filesystem::path> some_pictures(const Dataset& dataset, int count) {
  std::vector<std::filesystem::path> all = dataset.database;
  all.insert(all.end(), dataset.queries.begin(), dataset.queries.end());
  const std::size_t kept = std::min(all.size(), static_cast<std::size_t>(count));
  std::vector<std::filesystem::path> chosen;
  for (std::size_t i = 0; i < kept; ++i) chosen.push_back(all[i * all.size() / kept]);
  return chosen;
}

StudyResult run_recall_study(const RecallStudy& study,
                             const Dataset& dataset,
                             const StudyOptions& options) {
  StudyResult result;
  result.notes = study.notes;
  std::vector<std::string> names, methods;
  std::vector<std::string> paper;
  for (const RecallRow& row : study.rows) {
    std::string method = replaced(row.method, "{}", options.backbone);
    if (method.find("OTHER") != std::string::npos) {
      if (options.other_pictures.empty()) continue;
      method = replaced(method, "OTHER", options.other_pictures);
    }
    names.push_back(row.name);
    methods.push_back(method);
    paper.push_back(paper_text(row.paper));
  }
  const auto all = evaluate_cells(methods, dataset, options, result.notes);
  StudyTable table;
  table.title = fmt::format("{} on {}", study.info.title, dataset.name);
  table.columns = {"dim", "R@1", "95 %", "R@5", "R@10", "ms/picture", "paper R@1 (its backbone)"};
  for (std::size_t m = 0; m < all.size(); ++m) {
    const Evaluation& e = all[m];
    if (e.queries == 0) continue;
    const double pictures = std::max(1, e.queries + e.database);
    const double ms = 1e3 * (e.seconds.at("backbone") + e.seconds.at("aggregate")) / pictures;
    const auto recall = [&](int k) {
      const auto it = e.recall.find(k);
      return it == e.recall.end() ? StudyField{"-", {}, false} : percent(it->second);
    };
    const auto bounds = e.interval.find(1);
    table.rows.push_back(
        {names[m],
         {{std::to_string(e.dim), static_cast<double>(e.dim), false},
          recall(1),
          {bounds == e.interval.end()
               ? "-"
               : fmt::format("{:.1f}-{:.1f}", bounds->second.low, bounds->second.high),
           {},
           false},
          recall(5),
          recall(10),
          {fmt::format("{:.1f}", ms), ms, false},
          {paper[m], {}, false}}});
    result.evaluations.push_back(e);
  }
  if (table.rows.empty()) {
    throw std::runtime_error(fmt::format(
        "study {}: no method could be run; {}", study.info.name, fmt::join(result.notes, "; ")));
  }
  for (const std::size_t column : {1, 3, 4}) mark_best(table, column);
  table.caption = "ms/picture: network and head, one core; features from a cache cost no network.";
  result.tables.push_back(std::move(table));
  return result;
}

StudyResult run_study(const std::string& name,
                      const Dataset& dataset,
                      const StudyOptions& options) {
  options.validate();
  const auto finished = [&](StudyResult result, const StudyInfo& info) {
    result.study = info.name;
    result.title = fmt::format("{} ({})", info.title, info.paper);
    result.dataset = dataset.name;
    result.notes.insert(
        result.notes.begin(),
        fmt::format("Set and backbone are not the paper's unless they are named so: "
                    "{} queries, {} places of {}.",
                    dataset.queries.size(),
                    dataset.database.size(),
                    dataset.name));
    return result;
  };
  for (const RecallStudy& study : recall_studies()) {
    if (study.info.name == name)
      return finished(run_recall_study(study, dataset, options), study.info);
  }
  for (const OtherStudy& study : other_studies()) {
    if (study.info.name == name) return finished(study.run(dataset, options), study.info);
  }
  std::vector<std::string> known;
  for (const StudyInfo& info : studies()) known.push_back(info.name);
  throw std::invalid_argument(
      fmt::format("unknown study '{}', known: {}", name, fmt::join(known, ", ")));
}

std::string StudyResult::text() const {
  std::string out = fmt::format("{}\n", title);
  for (const StudyTable& table : tables) out += "\n" + table_text(table);
  if (!notes.empty()) out += "\n";
  for (const std::string& note : notes) out += fmt::format("- {}\n", note);
  return out;
}

std::string to_json(const StudyResult& result) {
  json tables = json::array(), plots = json::array(), maps = json::array();
  for (const StudyTable& table : result.tables) tables.push_back(table_json(table));
  for (const StudyPlot& plot : result.plots) plots.push_back(plot_json(plot));
  for (const StudyHeatMap& map : result.heat_maps) maps.push_back(heat_map_json(map));
  const json all{{"study", result.study},
                 {"title", result.title},
                 {"dataset", result.dataset},
                 {"command", result.command},
                 {"notes", result.notes},
                 {"tables", std::move(tables)},
                 {"plots", std::move(plots)},
                 {"heat_maps", std::move(maps)},
                 {"evaluations", json::parse(to_json(result.evaluations))},
                 {"ria_version", RIA_VERSION}};
  return json_text(all, 2) + "\n";
}

}  // namespace ria
