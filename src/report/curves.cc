// SPDX-License-Identifier: MIT
#include "report/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "report/markup.h"
#include "report/page.h"
#include "report/svg.h"

namespace ria {

namespace {

constexpr int kCurveLength = 20;
constexpr std::size_t kMostLines = 8;     // in a plot; more cannot be told apart
constexpr std::size_t kMostPoints = 160;  // of a line: as fine as pixels, whatever the set's size

/// Recall for each K that the kept predictions can answer.
std::map<int, double> recall_curve(const Dataset& dataset, const Evaluation& evaluation) {
  std::size_t longest = 1;
  for (const auto& matches : evaluation.predictions) longest = std::max(longest, matches.size());
  std::vector<int> ks(std::min<std::size_t>(longest, kCurveLength));
  std::iota(ks.begin(), ks.end(), 1);
  return recall_at(evaluation.predictions, dataset.positives, ks);
}

/// What is answered at a threshold: the last point of the curve that reaches it.
std::optional<PrecisionRecallPoint> point_at(const PrecisionRecall& curve, double threshold) {
  std::optional<PrecisionRecallPoint> last;
  for (const PrecisionRecallPoint& point : curve.points) {
    if (point.threshold < threshold) break;
    last = point;
  }
  return last;
}

/// The open-set threshold is a cosine: it says nothing about a re-ranker's scores.
std::optional<PrecisionRecallPoint> open_set_point(const Evaluation& one) {
  if (is_reranked(one) || one.open_set_threshold == 0) return std::nullopt;
  return point_at(one.precision_recall, one.open_set_threshold);
}

ChartSeries precision_series(const Evaluation& one, std::size_t style) {
  ChartSeries series{one.method, {}, style};
  const auto& points = one.precision_recall.points;
  const std::size_t step = std::max<std::size_t>(1, points.size() / kMostPoints);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i % step != 0 && i + 1 != points.size()) continue;
    series.points.push_back({100 * points[i].recall, 100 * points[i].precision});
  }
  if (const auto point = open_set_point(one)) {
    series.marked.push_back({100 * point->recall, 100 * point->precision});
  }
  return series;
}

std::string thresholds_html(const ReportView& view) {
  PageTable table;
  table.head = {"method", "open-set threshold", "precision there", "recall there"};
  for (const Evaluation& one : view.evaluations) {
    if (one.open_set.decision > 0) {
      const bool any = one.open_set.answers > 0;
      table.rows.push_back({name_html(one.method),
                            {{fmt::format("probability {:.2f}", one.open_set.decision)},
                             {any ? percent_text(100 * one.open_set.precision) : "no answer"},
                             {percent_text(100 * one.open_set.recall)}}});
    }
    if (is_reranked(one) || one.open_set_threshold == 0) continue;
    const auto point = open_set_point(one);
    table.rows.push_back({name_html(one.method),
                          {{fmt::format("{:.3f}", one.open_set_threshold)},
                           {point ? percent_text(100 * point->precision) : "no answer"},
                           {percent_text(point ? 100 * point->recall : 0)}}});
  }
  if (table.rows.empty()) return "";
  return table_html(table) +
         "<p class=\"note\">Open-set threshold: a cosine that unknown places hardly reach, from "
         "the scores of all queries with all places; a ring in the plot. Probability: what one "
         "picture says by itself of the place whose patches agree best. Precision and recall in "
         "percent, if only answers above it are given.</p>\n";
}

}  // namespace

std::string recall_curves_html(ReportView& view) {
  LineChart chart;
  chart.title = "Right place among the first K answers";
  chart.x.label = "K, answers looked at";
  chart.y.label = "recall, % of queries";
  double lowest = 90;  // at least ten points high, or noise would look like a difference
  int longest = 1;
  const auto methods = view.leading(kMostLines);
  for (const std::size_t i : methods) {
    const Evaluation& one = view.evaluations[i];
    ChartSeries series{one.method, {}, view.styles.of(one.method)};
    for (const auto& [k, percent] : recall_curve(view.dataset, one)) {
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
  return chart_html(std::move(chart)) + left_out_html(methods.size(), view.evaluations.size());
}

std::string precision_recall_html(ReportView& view) {
  LineChart chart;
  chart.title = "Precision of the best answers over recall, from the surest down";
  chart.x.label = "recall, % of queries that have a right place";
  chart.y.label = "precision, %";
  chart.x.ticks = nice_ticks(0, 100, 5);
  double lowest = 90;
  const auto methods = view.leading(kMostLines);
  for (const std::size_t i : methods) {
    const Evaluation& one = view.evaluations[i];
    if (one.precision_recall.points.empty()) continue;
    chart.series.push_back(precision_series(one, view.styles.of(one.method)));
    for (const auto& point : chart.series.back().points) lowest = std::min(lowest, point[1]);
  }
  if (chart.series.empty()) return "";
  chart.y.ticks = nice_ticks(lowest, 100, 5);
  return "<section>\n<h2>Precision and recall</h2>\n" + thresholds_html(view) +
         chart_html(std::move(chart)) + left_out_html(methods.size(), view.evaluations.size()) +
         "</section>\n";
}

}  // namespace ria
