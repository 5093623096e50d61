// SPDX-License-Identifier: MIT
// A training run on one page: curves, figures, and the pictures it confuses.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/markup.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/thumbnails.h"
#include "ria/report.h"
#include "ria/version.h"
#include "util/files.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 400;  // of a line: as fine as pixels, however long the run
constexpr std::size_t kMostPairs = 12;    // of a kind

using Points = std::vector<std::array<double, 2>>;

/// Means of as many neighbours as leave kMostPoints points, each at the middle of its steps.
template <typename Value>
Points thinned(const std::vector<TrainLogRow>& log, Value value) {
  const std::size_t together = (log.size() + kMostPoints - 1) / kMostPoints;
  Points points;
  for (std::size_t first = 0; first < log.size(); first += together) {
    const std::size_t end = std::min(log.size(), first + together);
    double x = 0, y = 0;
    for (std::size_t i = first; i < end; ++i) {
      x += static_cast<double>(log[i].step);
      y += value(log[i]);
    }
    const double count = static_cast<double>(end - first);
    points.push_back({x / count, y / count});
  }
  return points;
}

/// Exponential mean with the weight of about a twentieth of the run.
Points smoothed(const Points& points) {
  const double keep = 1 - 1 / std::max(1.0, static_cast<double>(points.size()) / 20);
  Points out;
  double sum = 0, weight = 0;
  for (const auto& [x, y] : points) {
    sum = keep * sum + y;
    weight = keep * weight + 1;
    out.push_back({x, sum / weight});
  }
  return out;
}

std::vector<TrainLogRow> steps_of(const TrainResult& result) {
  std::vector<TrainLogRow> steps;
  for (const TrainLogRow& row : result.log) {
    if (row.step > 0) steps.push_back(row);
  }
  return steps;
}

LineChart chart_of(std::string title, std::string y_label) {
  LineChart chart;
  chart.title = std::move(title);
  chart.x.label = "step";
  chart.y.label = std::move(y_label);
  chart.decimals = -1;
  chart.height = 320;
  return chart;
}

std::string loss_html(const std::vector<TrainLogRow>& steps) {
  if (steps.empty()) return "";
  LineChart chart = chart_of("Loss", "multi-similarity loss");
  const Points loss = thinned(steps, [](const TrainLogRow& row) { return row.loss; });
  chart.series = {{"of a batch", loss, 0}, {"smoothed", smoothed(loss), 1}};
  return chart_html(std::move(chart));
}

std::string recall_html(const TrainResult& result) {
  ChartSeries at_1{"R@1", {}, 0}, at_5{"R@5", {}, 1};
  double lowest = 90;
  for (const TrainLogRow& row : result.log) {
    if (!row.recall_at_1 || !row.recall_at_5) continue;
    at_1.points.push_back({static_cast<double>(row.step), *row.recall_at_1});
    at_5.points.push_back({static_cast<double>(row.step), *row.recall_at_5});
    lowest = std::min({lowest, *row.recall_at_1, *row.recall_at_5});
    if (result.best_recall_at_1 && *row.recall_at_1 == *result.best_recall_at_1 &&
        at_1.marked.empty()) {
      at_1.marked.push_back(at_1.points.back());
    }
  }
  if (at_1.points.empty()) {
    return "<p class=\"note\">No validation set was given: model.safetensors is the last "
           "state.</p>\n";
  }
  LineChart chart = chart_of("Recall on the validation set", "recall, % of queries");
  chart.decimals = 1;
  chart.y.ticks = nice_ticks(lowest, 100, 5);
  chart.series = {std::move(at_1), std::move(at_5)};
  return chart_html(std::move(chart)) +
         "<p class=\"note\">Step 0 is the model before training; the ring is the model that was "
         "kept as model.safetensors.</p>\n";
}

std::string rate_html(const std::vector<TrainLogRow>& steps) {
  if (steps.empty()) return "";
  LineChart chart = chart_of("Learning rates", "rate");
  chart.series = {{"projections and MLPs",
                   thinned(steps, [](const TrainLogRow& row) { return row.head_lr; }),
                   0},
                  {"network", thinned(steps, [](const TrainLogRow& row) { return row.lr; }), 1}};
  return chart_html(std::move(chart));
}

std::string recall_text(const std::optional<double>& percent) {
  return percent ? percent_text(*percent) : "-";
}

std::string epochs_html(const TrainResult& result) {
  PageTable table;
  table.head = {"epoch", "step", "mean loss", "pairs of a batch", "R@1", "R@5", "pictures/s"};
  const auto& log = result.log;
  for (std::size_t first = 0; first < log.size();) {
    std::size_t end = first;
    double loss = 0, pairs = 0, rate = 0;
    for (; end < log.size() && log[end].epoch == log[first].epoch; ++end) {
      loss += log[end].loss;
      pairs += static_cast<double>(log[end].positive_pairs + log[end].negative_pairs);
      rate += log[end].pictures_per_second;
    }
    const double count = static_cast<double>(end - first);
    const TrainLogRow& last = log[end - 1];
    const bool trained = last.step > 0;
    const bool best = result.best_recall_at_1 && last.recall_at_1 == result.best_recall_at_1;
    table.rows.push_back({trained ? std::to_string(last.epoch) : "before",
                          {{std::to_string(last.step)},
                           {trained ? fmt::format("{:.4f}", loss / count) : "-"},
                           {trained ? fmt::format("{:.0f}", pairs / count) : "-"},
                           {recall_text(last.recall_at_1), best},
                           {recall_text(last.recall_at_5)},
                           {trained ? fmt::format("{:.1f}", rate / count) : "-"}}});
    first = end;
  }
  if (table.rows.empty()) return "";
  return "<section>\n<h2>Epochs</h2>\n" + table_html(table) + "</section>\n";
}

std::string name_of(const fs::path& file) {
  return fmt::format("<span class=\"name\" title=\"{}\">{}</span>",
                     escape_markup(file.string()),
                     escape_markup(file.filename().string()));
}

std::string pairs_html(const std::vector<HardPair>& pairs,
                       const Thumbnails& thumbnails,
                       bool same_place) {
  std::string rows;
  std::size_t count = 0;
  for (const HardPair& pair : pairs) {
    if (pair.same_place != same_place || count++ >= kMostPairs) continue;
    rows += fmt::format(
        "<figure class=\"card pane pair\"><figcaption>cosine "
        "{:.3f}</figcaption><div>{}{}</div><div>"
        "{}{}</div></figure>\n",
        pair.cosine,
        thumbnails.show(pair.first, "first picture of the pair"),
        name_of(pair.first),
        thumbnails.show(pair.second, "second picture of the pair"),
        name_of(pair.second));
  }
  if (rows.empty()) return "";
  return fmt::format("<h3>{}</h3>\n<div class=\"gallery\">\n{}</div>\n",
                     same_place ? "One place, unlike" : "Two places, alike",
                     rows);
}

std::string hardest_html(const std::vector<HardPair>& pairs) {
  if (pairs.empty()) return "";
  std::vector<fs::path> files;
  for (const HardPair& pair : pairs) {
    files.push_back(pair.first);
    files.push_back(pair.second);
  }
  const Thumbnails thumbnails(std::move(files));
  return thumbnails.definitions() +
         "<section>\n<h2>Hardest pairs</h2>\n<p class=\"note\">Of the batches of the last epoch, "
         "as "
         "the model saw them then. Pictures of two places that are near the top of the first list "
         "and look the same to you are a hint that the set calls one place two.</p>\n" +
         pairs_html(pairs, thumbnails, false) + pairs_html(pairs, thumbnails, true) +
         "</section>\n";
}

std::string lead_html(const TrainResult& result) {
  std::string text = result.steps < result.planned_steps
                         ? fmt::format("Step {} of {}.", result.steps, result.planned_steps)
                         : fmt::format("{} steps.", result.steps);
  const auto first = std::find_if(result.log.begin(), result.log.end(), [](const auto& row) {
    return row.recall_at_1.has_value();
  });
  if (result.best_recall_at_1 && first != result.log.end()) {
    text += fmt::format(" The kept model finds the right place first for {:.1f}% of the queries",
                        *result.best_recall_at_1);
    text += first->step == 0
                ? fmt::format(" (R@1); before training it was {:.1f}%.", *first->recall_at_1)
                : " (R@1).";
  }
  return fmt::format("<p class=\"lead\">{}</p>\n", text);
}

std::string config_html(const TrainResult& result, const std::string& command) {
  std::string out = "<section>\n<h2>How this was made</h2>\n";
  if (!command.empty()) {
    out += fmt::format("<div class=\"card\"><pre>{}</pre></div>\n", escape_markup(command));
  }
  const auto config = ordered_json::parse(result.config, nullptr, false);
  const std::string shown =
      config.is_discarded() ? result.config
                            : config.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  return out + fmt::format(
                   "<p class=\"note\">ria {}</p>\n<details class=\"card\"><summary>Options, "
                   "weights, set</summary>\n<pre>{}</pre></details>\n</section>\n",
                   RIA_VERSION,
                   escape_markup(shown));
}

}  // namespace

void write_training_page(const fs::path& html_file,
                         const TrainResult& result,
                         const ReportOptions& options) {
  AtomicFile out(html_file);
  const std::vector<TrainLogRow> steps = steps_of(result);
  out.write(page_start(options.title));
  out.write(lead_html(result));
  out.write("<section>\n<h2>Curves</h2>\n");
  out.write(recall_html(result));
  out.write(loss_html(steps));
  out.write(rate_html(steps));
  out.write("</section>\n");
  out.write(epochs_html(result));
  out.write(hardest_html(result.hardest));
  out.write(config_html(result, options.command));
  out.write(page_end());
  out.commit();
}

}  // namespace ria
