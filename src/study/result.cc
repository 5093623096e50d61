// SPDX-License-Identifier: MIT
// What a study found, as text and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ria/version.h"
#include "study/study.h"
#include "util/json.h"

namespace ria {

namespace {

using nlohmann::json;

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
          {"caption", table.caption},
          {"of_paper", table.of_paper}};
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
  for (int i = 0; i < map.values.rows(); ++i) values.push_back(map.values.row(i));
  return {{"title", map.title},
          {"row_label", map.row_label},
          {"column_label", map.column_label},
          {"rows", map.rows},
          {"columns", map.columns},
          {"values", std::move(values)}};
}

}  // namespace

StudyField number_field(double value, const char* format) {
  return {fmt::format(fmt::runtime(format), value), value, false};
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
  json failures = json::array();
  for (const Failure& failure : result.failures) {
    failures.push_back({{"file", failure.file}, {"reason", failure.reason}});
  }
  const json all{{"study", result.study},
                 {"title", result.title},
                 {"dataset", result.dataset},
                 {"command", result.command},
                 {"notes", result.notes},
                 {"tables", std::move(tables)},
                 {"plots", std::move(plots)},
                 {"heat_maps", std::move(maps)},
                 {"evaluations", json::parse(to_json(result.evaluations))},
                 {"failures", std::move(failures)},
                 {"ria_version", RIA_VERSION}};
  return json_text(all, 2) + "\n";
}

}  // namespace ria
