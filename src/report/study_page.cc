// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "report/answers.h"
#include "report/curves.h"
#include "report/export.h"
#include "report/heat_map.h"
#include "report/markup.h"
#include "report/page.h"
#include "report/provenance.h"
#include "report/summary.h"
#include "report/svg.h"
#include "report/view.h"
#include "ria/report.h"
#include "util/files.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCompared = 16;  // methods; more are a grid, which the tables show
constexpr std::size_t kLongText = 14;      // characters; a field of more words may wrap

void check(const StudyResult& result) {
  for (const StudyTable& table : result.tables) {
    for (const StudyTable::Row& row : table.rows) {
      if (row.fields.size() == table.columns.size()) continue;
      throw std::invalid_argument(fmt::format("table '{}', row '{}': {} fields for {} columns",
                                              table.title,
                                              row.name,
                                              row.fields.size(),
                                              table.columns.size()));
    }
  }
  for (const StudyPlot& plot : result.plots) {
    for (const StudyPlot::Series& line : plot.series) {
      const bool bounded = line.low.size() == line.x.size() && line.high.size() == line.x.size();
      const bool plain = line.low.empty() && line.high.empty();
      if (line.x.size() == line.y.size() && (plain || bounded)) continue;
      throw std::invalid_argument(
          fmt::format("plot '{}', series '{}': {} x, {} y, {} low and {} high values",
                      plot.title,
                      line.name,
                      line.x.size(),
                      line.y.size(),
                      line.low.size(),
                      line.high.size()));
    }
  }
  for (const StudyHeatMap& map : result.heat_maps) {
    if (map.values.rows() == std::ssize(map.rows) && map.values.cols() == std::ssize(map.columns)) {
      continue;
    }
    throw std::invalid_argument(fmt::format("heat map '{}': {} x {} values for {} rows, {} columns",
                                            map.title,
                                            map.values.rows(),
                                            map.values.cols(),
                                            map.rows.size(),
                                            map.columns.size()));
  }
}

std::string study_table_html(const StudyTable& table) {
  PageTable shown;
  shown.head = {""};
  for (const std::string& column : table.columns) shown.head.push_back(escape_markup(column));
  for (const StudyTable::Row& row : table.rows) {
    shown.rows.push_back({name_html(row.name), {}});
    for (const StudyField& field : row.fields) {
      const bool words = !field.value && field.text.size() > kLongText;
      shown.rows.back().cells.push_back({escape_markup(field.text), field.best, words});
    }
  }
  return fmt::format("<section>\n<h2>{}</h2>\n{}{}</section>\n",
                     escape_markup(table.title),
                     table_html(shown),
                     table.caption.empty()
                         ? ""
                         : fmt::format("<p class=\"note\">{}</p>\n", escape_markup(table.caption)));
}

std::string study_plot_html(const StudyPlot& plot, SeriesStyles& styles) {
  LineChart chart;
  chart.title = plot.title;
  chart.x.label = plot.x_label;
  chart.y.label = plot.y_label;
  chart.decimals = -1;
  for (const StudyPlot::Series& line : plot.series) {
    ChartSeries series{line.name, {}, styles.of(line.name)};
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      series.points.push_back({line.x[i], line.y[i]});
      if (!line.low.empty()) series.band.push_back({line.low[i], line.high[i]});
    }
    chart.series.push_back(std::move(series));
  }
  return chart_html(std::move(chart));
}

std::string notes_html(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  std::string out = "<section>\n<h2>To know</h2>\n<ul class=\"notes\">\n";
  for (const std::string& note : notes) out += fmt::format("<li>{}</li>\n", escape_markup(note));
  return out + "</ul>\n</section>\n";
}

std::string tables_html(const std::vector<StudyTable>& tables, bool of_paper) {
  std::string out;
  for (const StudyTable& table : tables) {
    if (table.of_paper == of_paper) out += study_table_html(table);
  }
  return out;
}

std::string comparison_html(ReportView& view, const ReportOptions& options) {
  const std::size_t methods = view.evaluations.size();
  if (methods > kMostCompared) {
    return fmt::format(
        "<section>\n<h2>Recall</h2>\n<p class=\"note\">All recalls of the {} methods "
        "are in results.json.</p>\n</section>\n",
        methods);
  }
  return "<section>\n<h2>Recall</h2>\n" + recall_table_html(view) + recall_curves_html(view) +
         "</section>\n" + lead_tests_html(view) + leading_answers_html(view, options);
}

}  // namespace

void write_study_report(const fs::path& folder,
                        const StudyResult& result,
                        const Dataset& dataset,
                        const ReportOptions& options) {
  check(result);
  std::optional<ReportView> view;
  if (!result.evaluations.empty()) view.emplace(dataset, result.evaluations);
  prepare_report_folder(folder);
  write_text(folder / "results.json", to_json(result));
  write_text(folder / "results.csv", to_csv(result));
  std::string tex;
  for (const StudyTable& table : result.tables) tex += to_tex(table) + "\n";
  write_text(folder / "table.tex", tex);

  const bool titled = !options.title.empty() && options.title != ReportOptions{}.title;
  AtomicFile out(folder / "index.html");
  out.write(page_start(titled ? options.title : result.title));
  out.write(fmt::format(
      "<p class=\"lead\">Study <b>{}</b>{}</p>\n",
      escape_markup(result.study),
      view ? ". " + lead_sentence(*view) : fmt::format(" on {}.", escape_markup(result.dataset))));
  out.write(tables_html(result.tables, false));
  SeriesStyles own_styles;
  SeriesStyles& styles = view ? view->styles : own_styles;
  if (!result.plots.empty()) out.write("<section>\n<h2>Plots</h2>\n");
  for (const StudyPlot& plot : result.plots) out.write(study_plot_html(plot, styles));
  if (!result.plots.empty()) out.write("</section>\n");
  for (const StudyHeatMap& map : result.heat_maps) {
    out.write("<section>\n<h2>Heat map</h2>\n" + heat_map_html(map) + "</section>\n");
  }
  out.write(tables_html(result.tables, true));
  out.write(notes_html(result.notes));
  if (view) out.write(comparison_html(*view, options));
  out.write(provenance_html(
      dataset, result.evaluations, options.command.empty() ? result.command : options.command));
  out.write(page_end());
  out.commit();
}

}  // namespace ria
