// SPDX-License-Identifier: MIT
#include "report/place_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "report/markup.h"
#include "report/page.h"
#include "report/svg.h"

namespace ria {

namespace {

constexpr std::size_t kMostMaps = 4;
constexpr std::size_t kMostPlaces = 3000, kMostQueries = 1000;  // drawn, evenly spread
constexpr double kWidth = 360, kMargin = 14;                    // units: pixels on a phone
// Share of a line's length that it bulges: along a straight street lines would coincide.
constexpr double kStreetBulge = 0.22, kAreaBulge = 0.06;

using Position = std::optional<std::array<double, 2>>;
using Point = std::array<double, 2>;

bool is_known(const Position& position) {
  return position && std::isfinite((*position)[0]) && std::isfinite((*position)[1]);
}

/// From metres to the view box. A set that is higher than wide lies on its side: north is right.
class Projection {
 public:
  explicit Projection(const Dataset& dataset) {
    for (const auto* positions : {&dataset.database_positions, &dataset.query_positions}) {
      for (const Position& position : *positions) {
        if (!is_known(position)) continue;
        for (int axis = 0; axis < 2; ++axis) {
          low_[axis] = std::min(low_[axis], (*position)[axis]);
          high_[axis] = std::max(high_[axis], (*position)[axis]);
        }
      }
    }
    turned_ = high_[1] - low_[1] > 1.3 * (high_[0] - low_[0]);
    const double longest = std::max(high_[0] - low_[0], high_[1] - low_[1]);
    extent_ = turned_ ? high_[1] - low_[1] : high_[0] - low_[0];
    if (!(longest > 0)) extent_ = 0;
    scale_ = (kWidth - 2 * kMargin) / std::max(extent_, longest / 1.3);
  }

  bool usable() const { return extent_ > 0; }
  bool turned() const { return turned_; }
  double metres() const { return (kWidth - 2 * kMargin) / scale_; }
  double scale() const { return scale_; }
  double height() const { return scale_ * across(); }

  Point operator()(const Point& position) const {
    const double x = turned_ ? position[1] - low_[1] : position[0] - low_[0];
    // Down on the page is south, or east if north is right.
    const double y = turned_ ? position[0] - low_[0] : high_[1] - position[1];
    return {kMargin + scale_ * x, scale_ * y};
  }

 private:
  double across() const { return turned_ ? high_[0] - low_[0] : high_[1] - low_[1]; }

  Point low_ = {INFINITY, INFINITY}, high_ = {-INFINITY, -INFINITY};
  double extent_ = 0, scale_ = 1;
  bool turned_ = false;
};

std::vector<std::size_t> evenly(std::size_t from, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t count = std::min(from, most);
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(i * from / count);
  return chosen;
}

std::string dots(const std::vector<Position>& positions, const Projection& to_page, double top) {
  std::string path;
  for (const std::size_t i : evenly(positions.size(), kMostPlaces)) {
    if (!is_known(positions[i])) continue;
    const Point at = to_page(*positions[i]);
    path += fmt::format("M{:.1f} {:.1f}h0", at[0], at[1] + top);
  }
  return path;
}

/// A query with its best answer.
struct Answered {
  Point query, answer;
  bool right;
  double bulge;

  /// The top of the curve between them.
  Point control() const {
    const double dx = answer[0] - query[0], dy = answer[1] - query[1];
    const double side = dx < 0 ? -1 : 1;  // always up
    return {(query[0] + answer[0]) / 2 + 2 * bulge * side * dy,
            (query[1] + answer[1]) / 2 - 2 * bulge * side * dx};
  }
  double highest() const {
    return std::min({query[1], answer[1], (query[1] + 2 * control()[1] + answer[1]) / 4});
  }
};

std::vector<Answered> answered_queries(const ReportView& view,
                                       std::size_t method,
                                       const Projection& to_page) {
  std::vector<Answered> found;
  const double bulge = to_page.height() < kWidth / 4 ? kStreetBulge : kAreaBulge;
  const Dataset& dataset = view.dataset;
  for (const std::size_t q : evenly(dataset.queries.size(), kMostQueries)) {
    const auto& matches = view.evaluations[method].predictions[q];
    if (!is_known(dataset.query_positions[q]) || matches.empty()) continue;
    const Position& place = dataset.database_positions[matches.front().place];
    if (!is_known(place)) continue;
    found.push_back(
        {to_page(*dataset.query_positions[q]), to_page(*place), view.hits[method][q] != 0, bulge});
  }
  return found;
}

std::string scale_bar(const Projection& to_page, double bottom) {
  const double metres = nice_ticks(0, to_page.metres(), 4)[1];
  const std::string text =
      metres >= 1000 ? fmt::format("{:g} km", metres / 1000) : fmt::format("{:g} m", metres);
  return fmt::format(
      "<path class=\"axis\" d=\"M{0:.1f} {1:.1f}v6h{2:.1f}v-6\"/>"
      "<text class=\"tick\" x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>"
      "<text class=\"tick\" text-anchor=\"end\" x=\"{6:.1f}\" y=\"{4:.1f}\">north {7}</text>\n",
      kMargin,
      bottom,
      metres * to_page.scale(),
      kMargin + metres * to_page.scale() + 8,
      bottom + 7,
      text,
      kWidth - kMargin,
      to_page.turned() ? "&rarr;" : "&uarr;");
}

std::string map_svg(const ReportView& view, std::size_t method, const Projection& to_page) {
  const auto answers = answered_queries(view, method, to_page);
  double highest = 0;
  for (const Answered& one : answers) highest = std::min(highest, one.highest());
  const double top = kMargin - highest, bottom = top + to_page.height() + 2 * kMargin;
  std::string lines[2], marks[2];
  for (const Answered& one : answers) {
    const Point control = one.control();
    lines[one.right] += fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}",
                                    one.query[0],
                                    one.query[1] + top,
                                    control[0],
                                    control[1] + top,
                                    one.answer[0],
                                    one.answer[1] + top);
    marks[one.right] += fmt::format("M{:.1f} {:.1f}{}",
                                    one.query[0],
                                    one.query[1] + top,
                                    one.right ? "h0" : "m-3-3l6 6m0-6l-6 6");
  }
  return fmt::format(
      "<svg class=\"chart map\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"map of {}: "
      "{} queries and their best answers\">\n<path class=\"places\" d=\"{}\"/>\n"
      "<path class=\"to right\" d=\"{}\"/><path class=\"to wrong\" d=\"{}\"/>\n"
      "<path class=\"dot right\" d=\"{}\"/><path class=\"cross wrong\" d=\"{}\"/>\n{}</svg>\n",
      kWidth,
      bottom + 16,
      escape_markup(view.evaluations[method].method),
      answers.size(),
      dots(view.dataset.database_positions, to_page, top),
      lines[1],
      lines[0],
      marks[1],
      marks[0],
      scale_bar(to_page, bottom));
}

}  // namespace

std::string place_maps_html(const ReportView& view) {
  const Dataset& dataset = view.dataset;
  if (dataset.query_positions.size() != dataset.queries.size() ||
      dataset.database_positions.size() != dataset.database.size()) {
    return "";
  }
  const Projection to_page(dataset);
  if (!to_page.usable()) return "";
  const auto methods = view.leading(kMostMaps);
  std::string out =
      "<section>\n<h2>Map</h2>\n<p class=\"note\">Each query with a line to the place it was "
      "answered with. <span class=\"key hit\">&#9679; right</span> <span class=\"key "
      "miss\">&#10007; wrong</span> <span class=\"key place\">&#8901; places</span></p>\n"
      "<div class=\"gallery maps\">\n";
  for (const std::size_t i : methods) {
    out += fmt::format(
        "<figure class=\"card pane\"><figcaption>{} <span>R@1 "
        "{}</span></figcaption>\n{}</figure>\n",
        name_html(view.evaluations[i].method),
        percent_text(view.recall1[i]),
        map_svg(view, i, to_page));
  }
  return out + "</div>\n" + left_out_html(methods.size(), view.evaluations.size()) + "</section>\n";
}

}  // namespace ria
