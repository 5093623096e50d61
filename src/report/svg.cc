// SPDX-License-Identifier: MIT
#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/markup.h"

namespace ria {

namespace {

// The three cycles have lengths without a common divisor, so that a pair of series that shares one
// trait differs in the others.
constexpr int kColors = 7;
constexpr std::array<const char*, 4> kDashes = {"", "7 3", "2 3", "9 3 2 3"};
constexpr std::array<const char*, 5> kMarkers = {
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",  // circle
    "M-3 -3H3V3H-3z",                                     // square
    "M0 -4L3.8 3H-3.8z",                                  // triangle up
    "M0 -4.4L4.4 0L0 4.4L-4.4 0z",                        // diamond
    "M0 4L3.8 -3H-3.8z",                                  // triangle down
};

constexpr double kCharacter = 7.2;  // mean advance of the 13 px label font, rounded up
constexpr double kLine = 20;

/// From data to the view box, one axis.
struct Scale {
  double low, high;    // data
  double start, stop;  // view box
  double operator()(double value) const {
    return start + (value - low) / (high - low) * (stop - start);
  }
};

Scale make_scale(const std::vector<double>& ticks, double low, double high) {
  low = std::min(low, ticks.front());
  high = std::max(high, ticks.back());
  return {low, high > low ? high : low + 1, 0, 0};
}

std::array<double, 2> data_range(const std::vector<ChartSeries>& series, int coordinate) {
  double low = INFINITY, high = -INFINITY;
  for (const ChartSeries& one : series) {
    for (const auto& point : one.points) {
      low = std::min(low, point[coordinate]);
      high = std::max(high, point[coordinate]);
    }
  }
  return low <= high ? std::array{low, high} : std::array{0.0, 1.0};
}

void append_marker(std::string& out, std::size_t series, double x, double y) {
  fmt::format_to(std::back_inserter(out),
                 "<path class=\"marker c{}\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\"",
                 series % kColors,
                 x,
                 y,
                 kMarkers[series % kMarkers.size()]);
}

void append_line(std::string& out, std::size_t series, const std::string& points) {
  fmt::format_to(std::back_inserter(out),
                 "<polyline class=\"line c{}\" stroke-dasharray=\"{}\" points=\"{}\"/>\n",
                 series % kColors,
                 kDashes[series % kDashes.size()],
                 points);
}

/// Samples and names from left to right, as many on a line as fit. Returns the height used.
double append_legend(std::string& out, const LineChart& chart, double top) {
  constexpr double kSample = 34;
  double x = 0, y = top;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const std::string& name = chart.series[i].name;
    const double width = kSample + 6 + kCharacter * static_cast<double>(name.size()) + 16;
    if (x > 0 && x + width > chart.width) x = 0, y += kLine;
    append_line(out, i, fmt::format("{:.1f},{:.1f} {:.1f},{:.1f}", x, y, x + kSample, y));
    append_marker(out, i, x + kSample / 2, y);
    fmt::format_to(std::back_inserter(out),
                   "/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   x + kSample + 6,
                   y + 4.5,
                   escape_markup(name));
    x += width;
  }
  return chart.series.empty() ? 0 : y - top + kLine;
}

void append_axes(std::string& out,
                 const LineChart& chart,
                 const std::vector<double>& x_ticks,
                 const std::vector<double>& y_ticks,
                 const Scale& x,
                 const Scale& y) {
  auto to = std::back_inserter(out);
  for (const double tick : y_ticks) {
    fmt::format_to(
        to,
        "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{:g}</text>\n",
        x.start,
        y(tick),
        x.stop,
        x.start - 8,
        y(tick) + 4.5,
        tick);
  }
  for (const double tick : x_ticks) {
    fmt::format_to(
        to,
        "<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{:g}</text>\n",
        x(tick),
        y.start,
        y.stop,
        x(tick),
        y.start + 20,
        tick);
  }
  fmt::format_to(to,
                 "<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n",
                 x.start,
                 y.stop,
                 y.start,
                 x.stop);
  fmt::format_to(
      to,
      "<text class=\"tick\" x=\"0\" y=\"{:.1f}\">{}</text>"
      "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
      y.stop - 14,
      escape_markup(chart.y.label),
      (x.start + x.stop) / 2,
      y.start + 40,
      escape_markup(chart.x.label));
}

void append_series(
    std::string& out, const LineChart& chart, std::size_t index, const Scale& x, const Scale& y) {
  const ChartSeries& series = chart.series[index];
  std::string points;
  for (const auto& point : series.points) {
    fmt::format_to(std::back_inserter(points), "{:.1f},{:.1f} ", x(point[0]), y(point[1]));
  }
  append_line(out, index, points);
  for (const auto& point : series.points) {
    append_marker(out, index, x(point[0]), y(point[1]));
    fmt::format_to(std::back_inserter(out),
                   "><title>{}: {:.{}f} at {:g}</title></path>\n",
                   escape_markup(series.name),
                   point[1],
                   chart.decimals,
                   point[0]);
  }
}

/// What a screen reader says: each series by its ends.
std::string spoken(const LineChart& chart) {
  std::string text = chart.title;
  for (const ChartSeries& series : chart.series) {
    if (series.points.empty()) continue;
    fmt::format_to(std::back_inserter(text),
                   "; {}: {:.{}f} at {:g}, {:.{}f} at {:g}",
                   series.name,
                   series.points.front()[1],
                   chart.decimals,
                   series.points.front()[0],
                   series.points.back()[1],
                   chart.decimals,
                   series.points.back()[0]);
  }
  return text;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  if (!(high > low)) high = low + 1;
  const double rough = (high - low) / std::max(1, count);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  // Whole multiples, because adding up the step would drift; the slack forgives a rounded quotient.
  const auto first = static_cast<long long>(std::floor(low / step + 1e-9));
  const auto last = static_cast<long long>(std::ceil(high / step - 1e-9));
  std::vector<double> ticks;
  for (long long i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

std::string_view chart_style() {
  return R"css(
:root { --chart-text: #1f2328; --chart-muted: #59636e; --chart-grid: #e4e8ec; --chart-axis: #8c959f;
  --c0: #0b62c4; --c1: #c2500a; --c2: #0a7d55; --c3: #a1329a; --c4: #7a5c00; --c5: #0c7f99;
  --c6: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --chart-text: #e6edf3; --chart-muted: #9da7b3; --chart-grid: #2b323b;
    --chart-axis: #656d77;
    --c0: #6cb2ff; --c1: #ffa45c; --c2: #4fd1a1; --c3: #f08be0; --c4: #e3c04d; --c5: #5fd4ee;
    --c6: #ff8d85; }
}
.chart { display: block; width: 100%; height: auto; font: 13px system-ui, sans-serif; }
.chart text { fill: var(--chart-text); }
.chart .title { font-size: 15px; font-weight: 600; }
.chart .tick { fill: var(--chart-muted); }
.chart .grid { stroke: var(--chart-grid); fill: none; }
.chart .axis { stroke: var(--chart-axis); fill: none; }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .marker { stroke: none; }
.chart .c0 { --c: var(--c0); } .chart .c1 { --c: var(--c1); } .chart .c2 { --c: var(--c2); }
.chart .c3 { --c: var(--c3); } .chart .c4 { --c: var(--c4); } .chart .c5 { --c: var(--c5); }
.chart .c6 { --c: var(--c6); }
.chart .line { stroke: var(--c); }
.chart .marker { fill: var(--c); }
)css";
}

std::string line_chart_svg(const LineChart& chart) {
  const auto [x_low, x_high] = data_range(chart.series, 0);
  const auto [y_low, y_high] = data_range(chart.series, 1);
  const auto x_ticks = chart.x.ticks.empty() ? nice_ticks(x_low, x_high, 6) : chart.x.ticks;
  const auto y_ticks = chart.y.ticks.empty() ? nice_ticks(y_low, y_high, 5) : chart.y.ticks;

  std::string out =
      fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                  chart.width,
                  chart.height,
                  escape_markup(spoken(chart)));
  double top = 8;
  if (!chart.title.empty()) {
    fmt::format_to(std::back_inserter(out),
                   "<text class=\"title\" x=\"0\" y=\"16\">{}</text>\n",
                   escape_markup(chart.title));
    top = 40;
  }
  top += append_legend(out, chart, top) + 26;

  std::size_t digits = 1;
  for (const double tick : y_ticks) digits = std::max(digits, fmt::format("{:g}", tick).size());
  Scale x = make_scale(x_ticks, x_low, x_high);
  x.start = 12 + kCharacter * static_cast<double>(digits);
  x.stop = chart.width - 10;
  Scale y = make_scale(y_ticks, y_low, y_high);
  y.start = chart.height - 46;
  y.stop = top;
  append_axes(out, chart, x_ticks, y_ticks, x, y);
  for (std::size_t i = 0; i < chart.series.size(); ++i) append_series(out, chart, i, x, y);
  return out + "</svg>\n";
}

}  // namespace ria
