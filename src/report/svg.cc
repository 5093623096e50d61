// SPDX-License-Identifier: MIT
#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/markup.h"
#include "report/palette.h"

namespace ria {

namespace {

constexpr double kCharacter = 7.2;        // mean advance of the 13 px label font, rounded up
constexpr std::size_t kMostMarkers = 40;  // on a line; more would hide it

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

/// Points and bands that are numbers.
std::vector<ChartSeries> drawable(std::vector<ChartSeries> series) {
  for (ChartSeries& one : series) {
    const bool has_band = one.band.size() == one.points.size();
    ChartSeries kept{one.name, {}, one.style, {}, one.marked};
    for (std::size_t i = 0; i < one.points.size(); ++i) {
      const auto& point = one.points[i];
      if (!std::isfinite(point[0]) || !std::isfinite(point[1])) continue;
      kept.points.push_back(point);
      if (!has_band) continue;
      const auto& [low, high] = one.band[i];
      kept.band.push_back(
          {std::isfinite(low) ? low : point[1], std::isfinite(high) ? high : point[1]});
    }
    one = std::move(kept);
  }
  return series;
}

std::array<double, 2> data_range(const std::vector<ChartSeries>& series, int coordinate) {
  double low = INFINITY, high = -INFINITY;
  const auto include = [&](double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const ChartSeries& one : series) {
    for (const auto& point : one.points) include(point[coordinate]);
    if (coordinate == 0) continue;
    for (const auto& bounds : one.band) include(bounds[0]), include(bounds[1]);
  }
  return low <= high ? std::array{low, high} : std::array{0.0, 1.0};
}

std::string value_text(double value, int decimals) {
  return decimals < 0 ? fmt::format("{:.4g}", value) : fmt::format("{:.{}f}", value, decimals);
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

void append_band(std::string& out, const ChartSeries& series, const Scale& x, const Scale& y) {
  std::string points;
  for (std::size_t i = 0; i < series.band.size(); ++i) {
    points += fmt::format("{:.1f},{:.1f} ", x(series.points[i][0]), y(series.band[i][1]));
  }
  for (std::size_t i = series.band.size(); i-- > 0;) {
    points += fmt::format("{:.1f},{:.1f} ", x(series.points[i][0]), y(series.band[i][0]));
  }
  out += fmt::format("<polygon class=\"band\" points=\"{}\"/>\n", points);
}

void append_series(std::string& out,
                   const LineChart& chart,
                   const ChartSeries& series,
                   const Scale& x,
                   const Scale& y) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "<g class=\"{}\">\n", color_class(series.style));
  if (!series.band.empty()) append_band(out, series, x, y);
  std::string points;
  for (const auto& point : series.points) {
    points += fmt::format("{:.1f},{:.1f} ", x(point[0]), y(point[1]));
  }
  fmt::format_to(to,
                 "<polyline class=\"line\" stroke-dasharray=\"{}\" points=\"{}\"/>\n",
                 dashes(series.style),
                 points);
  const auto mark = [&](const std::array<double, 2>& point, const char* kind, const char* path) {
    fmt::format_to(to,
                   "<path class=\"{}\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\">"
                   "<title>{}: {} at {:.6g}</title></path>\n",
                   kind,
                   x(point[0]),
                   y(point[1]),
                   path,
                   escape_markup(series.name),
                   value_text(point[1], chart.decimals),
                   point[0]);
  };
  if (series.points.size() <= kMostMarkers) {
    for (const auto& point : series.points) mark(point, "marker", marker_path(series.style));
  }
  for (const auto& point : series.marked) mark(point, "ring", marker_path(series.style));
  out += "</g>\n";
}

/// What a screen reader says: each series by its ends.
std::string spoken(const LineChart& chart, const std::vector<ChartSeries>& drawn) {
  std::string text = chart.title;
  for (const ChartSeries& series : drawn) {
    if (series.points.empty()) continue;
    fmt::format_to(std::back_inserter(text),
                   "; {}: {} at {:g}, {} at {:g}",
                   series.name,
                   value_text(series.points.front()[1], chart.decimals),
                   series.points.front()[0],
                   value_text(series.points.back()[1], chart.decimals),
                   series.points.back()[0]);
  }
  return text;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  if (!(high > low)) high = low + std::max(1.0, std::abs(low) / 8);
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

std::string chart_style() {
  return palette_style() + R"css(
:root { --chart-text: #1f2328; --chart-muted: #59636e; --chart-grid: #e4e8ec; --chart-axis: #8c959f;
  --chart-page: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --chart-text: #e6edf3; --chart-muted: #9da7b3; --chart-grid: #2b323b;
    --chart-axis: #656d77; --chart-page: #171c23; }
}
.chart { display: block; width: 100%; height: auto; font: 13px system-ui, sans-serif; }
.chart text { fill: var(--chart-text); }
.chart .tick { fill: var(--chart-muted); }
.chart .grid { stroke: var(--chart-grid); fill: none; }
.chart .axis { stroke: var(--chart-axis); fill: none; }
.chart .line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.chart .marker { fill: var(--c); stroke: none; }
.chart .ring { fill: var(--chart-page); stroke: var(--c); stroke-width: 2; }
.chart .band { fill: var(--c); opacity: .16; stroke: none; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: .35rem 0 .5rem; padding: 0;
  list-style: none; font-size: .8125rem; line-height: 1.35; }
.legend li { display: flex; gap: .45rem; align-items: center; min-width: 0; }
.legend .sample { flex: none; width: 34px; height: 10px; }
.legend span { min-width: 0; overflow-wrap: anywhere; }
)css";
}

std::string line_chart_svg(const LineChart& chart) {
  const std::vector<ChartSeries> series = drawable(chart.series);
  const auto [x_low, x_high] = data_range(series, 0);
  const auto [y_low, y_high] = data_range(series, 1);
  // A label of up to six digits needs some 60 pixels.
  const auto x_ticks =
      chart.x.ticks.empty() ? nice_ticks(x_low, x_high, chart.width < 500 ? 4 : 6) : chart.x.ticks;
  const auto y_ticks = chart.y.ticks.empty() ? nice_ticks(y_low, y_high, 5) : chart.y.ticks;

  std::string out =
      fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                  chart.width,
                  chart.height,
                  escape_markup(spoken(chart, series)));
  std::size_t digits = 1;
  for (const double tick : y_ticks) digits = std::max(digits, fmt::format("{:g}", tick).size());
  Scale x = make_scale(x_ticks, x_low, x_high);
  x.start = 12 + kCharacter * static_cast<double>(digits);
  x.stop = chart.width - 16;
  Scale y = make_scale(y_ticks, y_low, y_high);
  y.start = chart.height - 46;
  y.stop = 30;
  append_axes(out, chart, x_ticks, y_ticks, x, y);
  for (const ChartSeries& one : series) append_series(out, chart, one, x, y);
  return out + "</svg>\n";
}

std::string chart_html(LineChart chart) {
  std::vector<LegendEntry> entries;
  for (const ChartSeries& series : chart.series) entries.push_back({series.name, series.style});
  std::string out = fmt::format("<figure class=\"card plot\">\n<figcaption>{}</figcaption>\n{}",
                                escape_markup(chart.title),
                                entries.size() > 1 ? legend_html(entries) : "");
  chart.width = 1120;
  chart.height = 400;
  out += "<div class=\"plot-wide\">" + line_chart_svg(chart);
  // Scaled down to a phone the letters would be too small, so it is drawn again for one.
  chart.width = 340;
  chart.height = 290;
  return out + "</div>\n<div class=\"plot-narrow\">" + line_chart_svg(chart) +
         "</div>\n</figure>\n";
}

}  // namespace ria
