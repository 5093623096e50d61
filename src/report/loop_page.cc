// SPDX-License-Identifier: MIT
// A drive with its loops on one page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/loop_figures.h"
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

constexpr std::size_t kMostPoints = 300;  // of a line
constexpr std::size_t kMostPairs = 12;    // of a kind

std::string measures_html(const LoopRun& run) {
  if (!run.measures) return "";
  const LoopMeasures& m = *run.measures;
  PageTable table;
  table.head = {"", "of loops said or to be found, %"};
  const auto add = [&](std::string name, double share) {
    table.rows.push_back({std::move(name), {{percent_text(100 * share)}}});
  };
  add(fmt::format("precision at p &ge; {:g}", run.options.decision), m.precision);
  add(fmt::format("recall at p &ge; {:g}", run.options.decision), m.recall);
  add("largest recall without a wrong loop", m.max_recall_at_full_precision);
  add("recall at a precision of 99 %", m.recall_at_99_precision);
  add("average precision", m.average_precision);
  return "<section>\n<h2>Said and found</h2>\n" + table_html(table) + "</section>\n";
}

std::string precision_html(const LoopMeasures& measures) {
  if (measures.curve.empty()) return "";
  LineChart chart;
  chart.title = "Precision over recall, from the surest loop down";
  chart.x = {"recall, % of pictures that have a loop", nice_ticks(0, 100, 5)};
  chart.y.label = "precision, %";
  ChartSeries series{"loops", {}, 0};
  double lowest = 90;
  const std::size_t step = std::max<std::size_t>(1, measures.curve.size() / kMostPoints);
  for (std::size_t i = 0; i < measures.curve.size(); ++i) {
    if (i % step != 0 && i + 1 != measures.curve.size()) continue;
    const PrecisionRecallPoint& point = measures.curve[i];
    series.points.push_back({100 * point.recall, 100 * point.precision});
    lowest = std::min(lowest, 100 * point.precision);
  }
  if (measures.said > 0) series.marked = {{100 * measures.recall, 100 * measures.precision}};
  chart.y.ticks = nice_ticks(lowest, 100, 5);
  chart.series = {std::move(series)};
  return chart_html(std::move(chart)) + "<p class=\"note\">The ring is what was decided.</p>\n";
}

std::string reliability_html(const LoopMeasures& measures) {
  LineChart chart;
  chart.title = "Reliability: how often loops of a probability are right";
  chart.x = {"probability said, mean of a tenth, %", nice_ticks(0, 100, 5)};
  chart.y = {"found right, %", nice_ticks(0, 100, 5)};
  ChartSeries found{"found", {}, 0};
  for (const ReliabilityBin& bin : measures.reliability) {
    if (bin.count == 0) continue;
    found.points.push_back({100 * bin.mean_probability, 100.0 * bin.right / bin.count});
  }
  if (found.points.empty()) return "";
  chart.series = {std::move(found), {"as said", {{0, 0}, {100, 100}}, 1}};
  return chart_html(std::move(chart));
}

std::string time_html(const LoopRun& run) {
  LineChart chart;
  chart.title = "Time behind the network";
  chart.x.label = "picture of the drive";
  chart.y.label = "ms";
  chart.decimals = -1;
  chart.height = 300;
  ChartSeries search{"search", {}, 0}, verify{"patches", {}, 1}, keep{"keep", {}, 2};
  const std::size_t together = (run.frames.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t first = 0; first < run.frames.size(); first += together) {
    const std::size_t end = std::min(run.frames.size(), first + together);
    LoopTime sum;
    for (std::size_t i = first; i < end; ++i) {
      sum.search += run.frames[i].result.ms.search;
      sum.verify += run.frames[i].result.ms.verify;
      sum.keep += run.frames[i].result.ms.keep;
    }
    const double count = static_cast<double>(end - first), x = static_cast<double>(first);
    search.points.push_back({x, sum.search / count});
    verify.points.push_back({x, sum.verify / count});
    keep.points.push_back({x, sum.keep / count});
  }
  chart.series = {std::move(search), std::move(verify), std::move(keep)};
  return "<section>\n<h2>Time</h2>\n" + chart_html(std::move(chart)) + "</section>\n";
}

std::string reasons_html(const LoopRun& run) {
  PageTable table;
  table.head = {"", "pictures"};
  for (int i = 0; i <= static_cast<int>(LoopReason::kStandingStill); ++i) {
    const auto reason = static_cast<LoopReason>(i);
    const auto count = std::count_if(run.frames.begin(), run.frames.end(), [&](const auto& frame) {
      return frame.result.reason == reason;
    });
    if (count > 0) table.rows.push_back({to_string(reason), {{std::to_string(count)}}});
  }
  return "<section>\n<h2>What was said</h2>\n" + table_html(table) + "</section>\n";
}

/// Evenly spread over the drive, and the surest mistakes.
struct Shown {
  std::vector<std::size_t> loops, mistakes;
};

Shown choose(const LoopRun& run, const std::vector<int>& places) {
  Shown shown;
  std::vector<std::size_t> loops;
  for (std::size_t i = 0; i < run.frames.size(); ++i) {
    if (places[i] < 0 || run.frames[i].picture.empty()) continue;
    const bool wrong = run.right(run.frames[i]) == false;
    if (run.frames[i].result.loop && !wrong) loops.push_back(i);
    if (wrong && run.frames[i].result.probability > 0.1) shown.mistakes.push_back(i);
  }
  const std::size_t count = std::min(kMostPairs, loops.size());
  for (std::size_t i = 0; i < count; ++i) shown.loops.push_back(loops[i * loops.size() / count]);
  std::stable_sort(shown.mistakes.begin(), shown.mistakes.end(), [&](std::size_t a, std::size_t b) {
    return run.frames[a].result.probability > run.frames[b].result.probability;
  });
  if (shown.mistakes.size() > kMostPairs) shown.mistakes.resize(kMostPairs);
  return shown;
}

std::string pairs_html(const LoopRun& run,
                       const std::vector<int>& places,
                       const std::vector<std::size_t>& chosen,
                       const Thumbnails& thumbnails,
                       const char* title) {
  if (chosen.empty()) return "";
  std::string rows;
  for (const std::size_t i : chosen) {
    const LoopRunFrame& frame = run.frames[i];
    const LoopRunFrame& place = run.frames[places[i]];
    const auto side = [&](const LoopRunFrame& one, const char* what) {
      return fmt::format("<div>{}<span class=\"name\">{}</span></div>",
                         thumbnails.show(one.picture, what),
                         escape_markup(one.name));
    };
    rows += fmt::format(
        "<figure class=\"card pane pair\"><figcaption>p = {:.3f} <span>{:.0f} % of patches "
        "agree</span></figcaption>{}{}</figure>\n",
        frame.result.probability,
        100 * frame.result.evidence.agreement,
        side(frame, "the picture"),
        side(place, "the earlier picture"));
  }
  return fmt::format("<h3>{}</h3>\n<div class=\"gallery\">\n{}</div>\n", title, rows);
}

std::string pictures_html(const LoopRun& run, const std::vector<int>& places) {
  const Shown shown = choose(run, places);
  std::vector<fs::path> files;
  for (const auto* some : {&shown.loops, &shown.mistakes}) {
    for (const std::size_t i : *some) {
      files.push_back(run.frames[i].picture);
      files.push_back(run.frames[places[i]].picture);
    }
  }
  if (files.empty()) return "";
  const Thumbnails thumbnails(std::move(files));
  return thumbnails.definitions() + "<section>\n<h2>Pictures</h2>\n" +
         pairs_html(run, places, shown.mistakes, thumbnails, "The surest mistakes") +
         pairs_html(run, places, shown.loops, thumbnails, "Loops") + "</section>\n";
}

std::string lead_html(const LoopRun& run) {
  const auto loops = std::count_if(
      run.frames.begin(), run.frames.end(), [](const auto& frame) { return frame.result.loop; });
  const LoopTime ms = run.ms_per_frame();
  return fmt::format(
      "<p class=\"lead\">{} pictures, {} loops; {:.1f} ms a picture behind the network.</p>\n",
      run.frames.size(),
      loops,
      ms.search + ms.verify + ms.keep);
}

}  // namespace

void write_loop_report(const fs::path& folder_or_html,
                       const LoopRun& run,
                       const Map& map,
                       const ReportOptions& options) {
  const bool page = folder_or_html.extension() == ".html";
  if (!page) prepare_report_folder(folder_or_html);
  const std::vector<int> places = run.places();
  std::string html = page_start(options.title) + lead_html(run) + measures_html(run);
  if (run.measures) {
    html += "<section>\n<h2>Precision and reliability</h2>\n" + precision_html(*run.measures) +
            reliability_html(*run.measures) + "</section>\n";
  }
  html += similarity_html(run, map, places) + path_html(run, places) + pictures_html(run, places) +
          reasons_html(run) + time_html(run);
  html += fmt::format(
      "<section>\n<h2>How this was made</h2>\n<div class=\"card\"><pre>{}</pre></div>\n<p "
      "class=\"note\">ria {}, {}</p>\n</section>\n",
      escape_markup(options.command),
      RIA_VERSION,
      escape_markup(run.method));
  write_text(page ? folder_or_html : folder_or_html / "index.html", html + page_end());
  if (!page) write_text(folder_or_html / "results.json", run.to_json());
}

}  // namespace ria
