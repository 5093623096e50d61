// SPDX-License-Identifier: MIT
#include "report/score_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/markup.h"
#include "report/page.h"

namespace ria {

namespace {

constexpr int kMostCells = 128;  // a side
constexpr int kLevels = 6;
constexpr std::size_t kMostMatrices = 6;

/// Scores and positives, several queries and places to a cell where there are many.
struct Cells {
  int rows = 0, columns = 0;
  std::vector<float> score;  // the largest; NaN: no prediction
  std::vector<char> predicted_right, positive;
  float low = INFINITY, high = -INFINITY;

  int cell(int query, int queries, int place, int places) const {
    const auto row = static_cast<int>(static_cast<long long>(query) * rows / queries);
    const auto column = static_cast<int>(static_cast<long long>(place) * columns / places);
    return row * columns + column;
  }
};

Cells fill_cells(const Dataset& dataset, const Evaluation& evaluation) {
  const int queries = static_cast<int>(dataset.queries.size());
  const int places = static_cast<int>(dataset.database.size());
  Cells cells;
  cells.rows = std::min(queries, kMostCells);
  cells.columns = std::min(places, kMostCells);
  const auto size = static_cast<std::size_t>(cells.rows) * cells.columns;
  cells.score.assign(size, NAN);
  cells.predicted_right.assign(size, 0);
  cells.positive.assign(size, 0);
  for (int query = 0; query < queries; ++query) {
    for (const int place : dataset.positives[query]) {
      if (place >= 0 && place < places)
        cells.positive[cells.cell(query, queries, place, places)] = 1;
    }
    for (const Match& match : evaluation.predictions[query]) {
      if (!std::isfinite(match.score)) continue;
      const int at = cells.cell(query, queries, match.place, places);
      if (!(cells.score[at] >= match.score)) cells.score[at] = match.score;
      if (is_positive(dataset, query, match.place)) cells.predicted_right[at] = 1;
      cells.low = std::min(cells.low, match.score);
      cells.high = std::max(cells.high, match.score);
    }
  }
  return cells;
}

/// Cells of one look as one path: neighbours in a row are one stroke.
template <typename Belongs>
void append_cells(std::string& out,
                  const Cells& cells,
                  const std::string& look,
                  Belongs&& belongs) {
  std::string path;
  for (int row = 0; row < cells.rows; ++row) {
    for (int column = 0; column < cells.columns;) {
      const int start = column;
      while (column < cells.columns && belongs(row * cells.columns + column)) ++column;
      if (column > start)
        path += fmt::format("M{} {}.5h{}", start, row, column - start);
      else
        ++column;
    }
  }
  if (!path.empty()) out += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", look, path);
}

}  // namespace

std::string score_matrix_svg(const Dataset& dataset, const Evaluation& evaluation) {
  const Cells cells = fill_cells(dataset, evaluation);
  const float range = std::max(cells.high - cells.low, 1e-12f);
  const auto level = [&](int at) {
    const float share = (cells.score[at] - cells.low) / range;
    return std::clamp(static_cast<int>(share * kLevels), 0, kLevels - 1);
  };
  std::string out = fmt::format(
      "<svg class=\"matrix\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"scores of {}: {} queries down, {} places across\">\n",
      cells.columns,
      cells.rows,
      escape_markup(evaluation.method),
      dataset.queries.size(),
      dataset.database.size());
  append_cells(out, cells, "missed", [&](int at) {
    return cells.positive[at] && !cells.predicted_right[at];
  });
  for (const bool right : {false, true}) {
    for (int step = 0; step < kLevels; ++step) {
      append_cells(out, cells, fmt::format("{} l{}", right ? "hit" : "other", step), [&](int at) {
        return !std::isnan(cells.score[at]) && (cells.predicted_right[at] != 0) == right &&
               level(at) == step;
      });
    }
  }
  return out + "</svg>\n";
}

std::string score_matrices_html(const ReportView& view) {
  if (view.dataset.queries.empty() || view.dataset.database.empty()) return "";
  const auto methods = view.leading(kMostMatrices);
  std::string out =
      "<section>\n<h2>Where the answers lie</h2>\n"
      "<p class=\"note\">Each query (down) with the places it was answered with (across); the "
      "stronger the colour, the more alike. "
      "<span class=\"key hit\">right place found</span> <span class=\"key other\">another "
      "place</span> <span class=\"key missed\">right place, not among the answers</span></p>\n"
      "<div class=\"gallery\">\n";
  for (const std::size_t i : methods) {
    const Evaluation& one = view.evaluations[i];
    const Cells cells = fill_cells(view.dataset, one);
    out += fmt::format(
        "<figure class=\"card pane\"><figcaption>{} <span>R@1 "
        "{}{}</span></figcaption>\n{}</figure>\n",
        name_html(one.method),
        percent_text(view.recall1[i]),
        cells.low <= cells.high
            ? fmt::format(" &middot; scores {:.2f} to {:.2f}", cells.low, cells.high)
            : "",
        score_matrix_svg(view.dataset, one));
  }
  return out + "</div>\n" + left_out_html(methods.size(), view.evaluations.size()) + "</section>\n";
}

}  // namespace ria
