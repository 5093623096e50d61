// SPDX-License-Identifier: MIT
// Charts as SVG text, to stand inside an HTML page.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ria {

struct ChartSeries {
  std::string name;
  std::vector<std::array<double, 2>> points;       ///< x, y; in the order they are joined
  std::size_t style = 0;                           ///< of SeriesStyles
  std::vector<std::array<double, 2>> band = {};    ///< low, high of each point; empty: none
  std::vector<std::array<double, 2>> marked = {};  ///< drawn with a ring: points to look at
};

struct ChartAxis {
  std::string label;
  std::vector<double> ticks;  ///< rising; empty: nice numbers around the data
};

struct LineChart {
  std::string title;
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
  int width = 760;  ///< units of the view box: pixels when shown at full size
  int height = 400;
  int decimals = 1;  ///< of y in labels for a pointer and a screen reader; -1: four digits
};

/// About `count` multiples of 1, 2 or 5 times a power of ten; the first is at most `low`, the last
/// at least `high`.
std::vector<double> nice_ticks(double low, double high, int count);

/// Rules for everything drawn here and for legends, for light and dark. A page needs them once.
std::string chart_style();

/// The chart as an <svg> element, without title and legend. Points that are no numbers are left
/// out. (A file of its own would add xmlns and a <style> with chart_style().)
std::string line_chart_svg(const LineChart& chart);

/// Title, legend and chart on a card; drawn twice, for a desktop and for a phone.
std::string chart_html(LineChart chart);

}  // namespace ria
