// SPDX-License-Identifier: MIT
#include "report/loop_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace ria {

namespace {

constexpr int kMostCells = 128;  // a side
constexpr int kLevels = 6;

/// Evenly spread frames that are in the map.
std::vector<int> sampled(const LoopRun& run, const Map& map) {
  std::vector<int> kept;
  for (std::size_t i = 0; i < run.frames.size(); ++i) {
    const int number = run.frames[i].result.kept_as;
    if (number >= 0 && number < map.end()) kept.push_back(static_cast<int>(i));
  }
  std::vector<int> chosen;
  const auto count = std::min<std::size_t>(kMostCells, kept.size());
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(kept[i * kept.size() / count]);
  return chosen;
}

/// Cosines below the diagonal, row by row; NaN elsewhere and for places that were forgotten.
Matrix cosines(const LoopRun& run, const Map& map, const std::vector<int>& frames) {
  const auto size = static_cast<int>(frames.size());
  std::vector<Descriptor> rows;
  for (const int frame : frames) {
    try {
      const Matrix row = map.descriptors({run.frames[frame].result.kept_as});
      rows.emplace_back(row.values().begin(), row.values().end());
    } catch (const std::invalid_argument&) {
      rows.emplace_back();
    }
  }
  Matrix values(size, size, NAN);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < i; ++j) {
      if (rows[i].empty() || rows[j].empty()) continue;
      values(i, j) = std::inner_product(rows[i].begin(), rows[i].end(), rows[j].begin(), 0.0f);
    }
  }
  return values;
}

std::string level_path(const Matrix& values, float low, float high, int level) {
  std::string path;
  for (int i = 0; i < values.rows(); ++i) {
    for (int j = 0; j < i;) {
      const int start = j;
      const auto belongs = [&](int column) {
        const float share = (values(i, column) - low) / std::max(high - low, 1e-6f);
        return std::isfinite(share) &&
               std::clamp(static_cast<int>(share * kLevels), 0, kLevels - 1) == level;
      };
      while (j < i && belongs(j)) ++j;
      if (j > start) {
        path += fmt::format("M{} {}.5h{}", start, i, j - start);
      } else {
        ++j;
      }
    }
  }
  return path;
}

/// The loops as cells of the sampled matrix.
std::array<std::string, 2> loop_paths(const LoopRun& run,
                                      const std::vector<int>& places,
                                      double size) {
  std::array<std::string, 2> paths;  // right or not known, wrong
  const double scale = size / static_cast<double>(run.frames.size());
  for (std::size_t i = 0; i < run.frames.size(); ++i) {
    if (!run.frames[i].result.loop || places[i] < 0) continue;
    const bool wrong = run.right(run.frames[i]) == false;
    paths[wrong] += fmt::format("M{:.1f} {:.1f}h1",
                                std::floor(places[i] * scale),
                                std::floor(static_cast<double>(i) * scale) + 0.5);
  }
  return paths;
}

}  // namespace

std::string similarity_html(const LoopRun& run, const Map& map, const std::vector<int>& places) {
  const std::vector<int> frames = sampled(run, map);
  if (frames.size() < 2) return "";
  const Matrix values = cosines(run, map, frames);
  float low = INFINITY, high = -INFINITY;
  for (const float value : values.values()) {
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const auto size = static_cast<int>(frames.size());
  std::string svg = fmt::format(
      "<svg class=\"matrix\" viewBox=\"0 0 {0} {0}\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"how alike {1} pictures are to those before them, and the loops\">\n",
      size,
      run.frames.size());
  for (int level = 0; level < kLevels; ++level) {
    const std::string path = level_path(values, low, high, level);
    if (!path.empty()) svg += fmt::format("<path class=\"other l{}\" d=\"{}\"/>\n", level, path);
  }
  const auto paths = loop_paths(run, places, size);
  if (!paths[0].empty()) svg += fmt::format("<path class=\"hit l5\" d=\"{}\"/>\n", paths[0]);
  if (!paths[1].empty()) svg += fmt::format("<path class=\"missed\" d=\"{}\"/>\n", paths[1]);
  return "<section>\n<h2>Where the loops lie</h2>\n<p class=\"note\">Each picture (down) with "
         "those "
         "before it (across); the stronger the colour, the more alike. <span class=\"key "
         "hit\">loop</span> <span class=\"key missed\">wrong loop</span></p>\n<div "
         "class=\"gallery\"><figure class=\"card pane\">" +
         svg + "</svg></figure></div>\n</section>\n";
}

std::string path_html(const LoopRun& run, const std::vector<int>& places) {
  constexpr double kWidth = 700, kMargin = 12;
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (const LoopRunFrame& frame : run.frames) {
    if (!frame.pose) continue;
    for (int axis = 0; axis < 2; ++axis) {
      low[axis] = std::min(low[axis], frame.pose->position[axis]);
      high[axis] = std::max(high[axis], frame.pose->position[axis]);
    }
  }
  if (!(low[0] <= high[0]) || !std::isfinite(high[0] - low[0] + high[1] - low[1])) return "";
  const double extent = std::max({high[0] - low[0], high[1] - low[1], 1e-3});
  const double scale = (kWidth - 2 * kMargin) / extent;
  const auto at = [&](const Pose& pose) {
    return fmt::format("{:.1f} {:.1f}",
                       kMargin + (pose.position[0] - low[0]) * scale,
                       kMargin + (high[1] - pose.position[1]) * scale);
  };
  std::string way, edges[2];
  for (std::size_t i = 0; i < run.frames.size(); ++i) {
    const LoopRunFrame& frame = run.frames[i];
    if (!frame.pose) continue;
    way += (way.empty() ? "M" : "L") + at(*frame.pose);
    if (!frame.result.loop || places[i] < 0 || !run.frames[places[i]].pose) continue;
    edges[run.right(frame) == false] +=
        "M" + at(*frame.pose) + "L" + at(*run.frames[places[i]].pose);
  }
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"the way driven and its loops\">\n"
      "<path class=\"axis\" fill=\"none\" d=\"{}\"/>\n",
      kWidth,
      2 * kMargin + (high[1] - low[1]) * scale,
      way);
  for (int wrong = 0; wrong < 2; ++wrong) {
    if (edges[wrong].empty()) continue;
    svg += fmt::format("<path class=\"c{}\" fill=\"none\" stroke=\"currentColor\" d=\"{}\"/>\n",
                       wrong,
                       edges[wrong]);
  }
  return "<section>\n<h2>The way</h2>\n<p class=\"note\">As odometry has it, and a line for each "
         "loop; in the second colour those that are wrong.</p>\n<div class=\"card\">" +
         svg + "</svg></div>\n</section>\n";
}

}  // namespace ria
