// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "report/answers.h"
#include "report/markup.h"
#include "report/style.h"
#include "report/svg.h"
#include "report/table.h"
#include "ria/report.h"
#include "ria/version.h"
#include "util/files.h"

namespace ria {

namespace {

constexpr int kCurveLength = 20;

using Curve = std::map<int, double>;  // K -> percent

void check(const Dataset& dataset, const std::vector<Evaluation>& evaluations) {
  if (evaluations.empty()) throw std::invalid_argument("a report needs at least one evaluation");
  if (dataset.positives.size() != dataset.queries.size()) {
    throw std::invalid_argument(fmt::format("dataset {} has {} queries, positives for {}",
                                            dataset.name,
                                            dataset.queries.size(),
                                            dataset.positives.size()));
  }
  const int places = static_cast<int>(dataset.database.size());
  for (const Evaluation& one : evaluations) {
    if (one.predictions.size() != dataset.queries.size()) {
      throw std::invalid_argument(
          fmt::format("{} has predictions for {} queries, dataset {} has {}",
                      one.method,
                      one.predictions.size(),
                      dataset.name,
                      dataset.queries.size()));
    }
    for (const auto& matches : one.predictions) {
      for (const Match& match : matches) {
        if (match.place >= 0 && match.place < places) continue;
        throw std::invalid_argument(fmt::format("{} predicts place {}, dataset {} has {}",
                                                one.method,
                                                match.place,
                                                dataset.name,
                                                places));
      }
    }
  }
}

/// Recall for each K that the kept predictions can answer.
Curve recall_curve(const Dataset& dataset, const Evaluation& evaluation) {
  std::size_t longest = 1;
  for (const auto& matches : evaluation.predictions) longest = std::max(longest, matches.size());
  std::vector<int> ks(std::min<std::size_t>(longest, kCurveLength));
  std::iota(ks.begin(), ks.end(), 1);
  return recall_at(evaluation.predictions, dataset.positives, ks);
}

std::string lead_html(const Dataset& dataset,
                      const std::vector<Evaluation>& evaluations,
                      const std::vector<Curve>& curves) {
  std::vector<std::size_t> order(evaluations.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return curves[a].at(1) > curves[b].at(1);
  });
  const auto name = [&](std::size_t rank) {
    return fmt::format("<b>{}</b>", escape_markup(evaluations[order[rank]].method));
  };
  const double best = curves[order[0]].at(1);
  std::string text = fmt::format("On {}, {} finds the right place first for {:.1f}% of {} queries",
                                 escape_markup(dataset.name),
                                 name(0),
                                 best,
                                 dataset.queries.size());
  if (order.size() == 1) return text + " (R@1).";
  const double lead = best - curves[order[1]].at(1);
  if (lead < 0.05) return text + fmt::format(" (R@1), level with {}.", name(1));
  return text + fmt::format(" (R@1), {:.1f} points ahead of {}.", lead, name(1));
}

std::string comparison_html(const std::vector<Evaluation>& evaluations) {
  const std::vector<ComparisonColumn> columns = comparison_columns(evaluations);
  std::string out = "<div class=\"card scroll\"><table>\n<thead><tr><th scope=\"col\">method</th>";
  for (const ComparisonColumn& column : columns) {
    out += fmt::format("<th scope=\"col\">{}</th>", column.title);
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escape_markup(evaluations[i].method));
    for (const ComparisonColumn& column : columns) {
      out += fmt::format("<td{}>{}</td>", column.best[i] ? " class=\"best\"" : "", column.cells[i]);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string chart_html(const std::vector<Evaluation>& evaluations,
                       const std::vector<Curve>& curves) {
  LineChart chart;
  chart.title = "Right place among the first K answers";
  chart.x.label = "K, answers looked at";
  chart.y.label = "recall, % of queries";
  double lowest = 90;  // at least ten points high, or noise would look like a difference
  int longest = 1;
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    ChartSeries series{evaluations[i].method, {}};
    for (const auto& [k, percent] : curves[i]) {
      series.points.push_back({static_cast<double>(k), percent});
      lowest = std::min(lowest, percent);
      longest = std::max(longest, k);
    }
    chart.series.push_back(std::move(series));
  }
  for (int k = 1; k <= longest; ++k) {
    if (k == 1 || k % 5 == 0 || longest < 10) chart.x.ticks.push_back(k);
  }
  chart.y.ticks = nice_ticks(lowest, 100, 5);
  std::string out = "<div class=\"card plot\">\n<div class=\"plot-wide\">";
  chart.width = 1120;
  chart.height = 430;
  out += line_chart_svg(chart);
  // Scaled down to a phone the letters would be too small, so it is drawn again for one.
  out += "</div>\n<div class=\"plot-narrow\">";
  chart.width = 340;
  chart.height = 290 + 20 * static_cast<int>(chart.series.size());
  return out + line_chart_svg(chart) + "</div>\n</div>\n";
}

std::string times_html(const std::vector<Evaluation>& evaluations) {
  std::vector<std::string> stages;
  for (const char* stage : {"decode", "backbone", "aggregate", "search", "wall"}) {
    const bool measured = std::any_of(evaluations.begin(), evaluations.end(), [&](const auto& one) {
      return one.seconds.count(stage) > 0;
    });
    if (measured) stages.emplace_back(stage);
  }
  if (stages.empty()) return "";
  std::string out =
      "<h2>Time</h2>\n<div class=\"card scroll\"><table>\n<thead><tr><th "
      "scope=\"col\">seconds</th>";
  for (const std::string& stage : stages) out += fmt::format("<th scope=\"col\">{}</th>", stage);
  out += "</tr></thead>\n<tbody>\n";
  for (const Evaluation& one : evaluations) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escape_markup(one.method));
    for (const std::string& stage : stages) {
      const auto found = one.seconds.find(stage);
      out +=
          found == one.seconds.end() ? "<td>-</td>" : fmt::format("<td>{:.2f}</td>", found->second);
    }
    out += "</tr>\n";
  }
  return out +
         "</tbody></table></div>\n<p class=\"note\">Stages are added up over all threads and "
         "counted for every method that needs them; wall is the clock of the whole run.</p>\n";
}

std::string pretty_json(const std::string& text) {
  // Order kept as written, and what is no JSON is still shown.
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return text;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string failures_html(const std::vector<Evaluation>& evaluations) {
  // Methods read the same pictures, so a broken one is listed once, with all who met it.
  std::map<std::pair<std::string, std::string>, std::string> methods;
  for (const Evaluation& one : evaluations) {
    for (const Failure& failure : one.failures) {
      std::string& names = methods[{failure.file, failure.reason}];
      names += (names.empty() ? "" : ", ") + one.method;
    }
  }
  if (methods.empty()) return "<p class=\"note\">Every picture could be read.</p>\n";
  std::string out = fmt::format(
      "<h3>Pictures that failed ({})</h3>\n<ul class=\"card failures\">\n", methods.size());
  for (const auto& [failure, names] : methods) {
    out += fmt::format("<li><code>{}</code>: {} <span class=\"note\">({})</span></li>\n",
                       escape_markup(failure.first),
                       escape_markup(failure.second),
                       escape_markup(names));
  }
  return out + "</ul>\n";
}

std::string provenance_html(const Dataset& dataset,
                            const std::vector<Evaluation>& evaluations,
                            const ReportOptions& options) {
  std::string out = "<section>\n<h2>How this was made</h2>\n";
  if (!options.command.empty()) {
    out += fmt::format("<div class=\"card\"><pre>{}</pre></div>\n", escape_markup(options.command));
  }
  out += fmt::format(
      "<p class=\"note\">ria {} &middot; dataset {}: {} queries, {} database "
      "pictures</p>\n",
      RIA_VERSION,
      escape_markup(dataset.name),
      dataset.queries.size(),
      dataset.database.size());
  out += failures_html(evaluations);
  for (const Evaluation& one : evaluations) {
    out += fmt::format(
        "<details class=\"card\"><summary>{}: options, weights, seed</summary>\n"
        "<dl><dt>weights sha256</dt><dd><code>{}</code></dd>"
        "<dt>seed</dt><dd><code>{}</code></dd></dl>\n<pre>{}</pre></details>\n",
        escape_markup(one.method),
        one.weights_sha256.empty() ? "none" : escape_markup(one.weights_sha256),
        one.seed,
        escape_markup(pretty_json(one.options)));
  }
  return out + "</section>\n";
}

}  // namespace

void write_report(const std::filesystem::path& html_file,
                  const Dataset& dataset,
                  const std::vector<Evaluation>& evaluations,
                  const ReportOptions& options) {
  check(dataset, evaluations);
  // Opened first: a folder that cannot be written is told before the pictures are read.
  AtomicFile out(html_file);
  std::vector<Curve> curves;
  for (const Evaluation& one : evaluations) curves.push_back(recall_curve(dataset, one));

  const std::string title = escape_markup(options.title);
  out.write(
      fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
                  title,
                  page_style(),
                  chart_style(),
                  title));
  out.write(fmt::format("<p class=\"lead\">{}</p>\n<section>\n<h2>Recall</h2>\n",
                        lead_html(dataset, evaluations, curves)));
  out.write(comparison_html(evaluations));
  out.write(chart_html(evaluations, curves));
  out.write("</section>\n");
  out.write(answers_html(dataset, evaluations, options));
  out.write(times_html(evaluations));
  out.write(provenance_html(dataset, evaluations, options));
  out.write("</body>\n</html>\n");
  out.commit();
}

}  // namespace ria
