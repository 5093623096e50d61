// SPDX-License-Identifier: MIT
#include "report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/markup.h"
#include "report/palette.h"

namespace ria {

namespace {

constexpr double kCharacter = 7.6;  // of the 13 px font
constexpr double kRowHeight = 34;
constexpr int kScaleSteps = 32;

/// All values of a map alike: one decimal for percentages, three digits for small numbers.
std::string value_text(double value, double largest) {
  if (!std::isfinite(value)) return "-";
  if (largest >= 10 && largest < 1e5) return fmt::format("{:.1f}", value);
  return fmt::format("{:.3g}", value);
}

std::string fill_of(double share) {
  const auto [r, g, b] = heat_color(share);
  return fmt::format("#{:02x}{:02x}{:02x}", r, g, b);
}

/// Letters that can be read on the colour: its brightness decides.
const char* ink_on(double share) {
  const auto [r, g, b] = heat_color(share);
  return 0.299 * r + 0.587 * g + 0.114 * b > 130 ? "#111111" : "#ffffff";
}

double text_width(const std::string& text) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  return kCharacter * static_cast<double>(characters);
}

/// Where everything stands, from the longest texts.
struct Layout {
  double left = 0, top = 46, cell = 44, width = 0, height = 0;
  double largest = 0;  // value, without its sign
};

Layout lay_out(const StudyHeatMap& map) {
  Layout layout;
  for (const std::string& row : map.rows) layout.left = std::max(layout.left, text_width(row));
  layout.left = std::max(layout.left, text_width(map.row_label)) + 12;
  for (const std::string& column : map.columns) {
    layout.cell = std::max(layout.cell, text_width(column) + 10);
  }
  for (const double value : map.values.values()) {
    const double size = std::abs(value);
    if (std::isfinite(size)) layout.largest = std::max(layout.largest, size);
  }
  for (const double value : map.values.values()) {
    const std::string text = value_text(value, layout.largest);
    layout.cell = std::max(layout.cell, text_width(text) + 10);
  }
  const double grid = layout.cell * static_cast<double>(map.columns.size());
  layout.width = layout.left + std::max(grid, text_width(map.column_label)) + 2;
  layout.height = layout.top + kRowHeight * static_cast<double>(map.rows.size()) + 2;
  return layout;
}

void append_labels(std::string& out, const StudyHeatMap& map, const Layout& layout) {
  auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "<text class=\"tick\" x=\"{:.1f}\" y=\"14\">{}</text>"
                 "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                 layout.left,
                 escape_markup(map.column_label),
                 layout.left - 8,
                 layout.top - 8,
                 escape_markup(map.row_label));
  for (std::size_t j = 0; j < map.columns.size(); ++j) {
    fmt::format_to(to,
                   "<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   layout.left + layout.cell * (static_cast<double>(j) + 0.5),
                   layout.top - 8,
                   escape_markup(map.columns[j]));
  }
  for (std::size_t i = 0; i < map.rows.size(); ++i) {
    fmt::format_to(to,
                   "<text text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   layout.left - 8,
                   layout.top + kRowHeight * (static_cast<double>(i) + 0.5) + 4.5,
                   escape_markup(map.rows[i]));
  }
}

void append_cell(
    std::string& out, const Layout& layout, double row, double column, double value, double share) {
  const bool known = std::isfinite(value);
  const double x = layout.left + layout.cell * column, y = layout.top + kRowHeight * row;
  fmt::format_to(std::back_inserter(out),
                 "<rect class=\"cell\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\""
                 "{}/><text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n",
                 x + 1,
                 y + 1,
                 layout.cell - 2,
                 kRowHeight - 2,
                 known ? fmt::format(" style=\"fill:{}\"", fill_of(share)) : "",
                 x + layout.cell / 2,
                 y + kRowHeight / 2 + 4.5,
                 known ? fmt::format(" style=\"fill:{}\"", ink_on(share)) : "",
                 value_text(value, layout.largest));
}

std::string scale_html(double low, double high, double largest) {
  std::string out = fmt::format(
      "<div class=\"heat-scale\"><span>{}</span><svg viewBox=\"0 0 {} 1\" "
      "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
      value_text(low, largest),
      kScaleSteps);
  for (int i = 0; i < kScaleSteps; ++i) {
    out += fmt::format(
        "<path style=\"stroke:{}\" d=\"M{} .5h1.05\"/>", fill_of(i / (kScaleSteps - 1.0)), i);
  }
  return out + fmt::format("</svg><span>{}</span></div>\n", value_text(high, largest));
}

}  // namespace

std::string heat_map_html(const StudyHeatMap& map) {
  double low = INFINITY, high = -INFINITY;
  for (const double value : map.values.values()) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const Layout layout = lay_out(map);
  std::string out = fmt::format(
      "<figure class=\"card plot\">\n<figcaption>{}</figcaption>\n<div class=\"scroll\">"
      "<svg class=\"chart heat\" viewBox=\"0 0 {:.0f} {:.0f}\" style=\"width:{:.0f}px\" "
      "role=\"img\" "
      "aria-label=\"{}\">\n",
      escape_markup(map.title),
      layout.width,
      layout.height,
      layout.width,
      escape_markup(map.title));
  append_labels(out, map, layout);
  for (int i = 0; i < map.values.rows(); ++i) {
    for (int j = 0; j < map.values.cols(); ++j) {
      const double share = high > low ? (map.values(i, j) - low) / (high - low) : 0.5;
      append_cell(out, layout, i, j, map.values(i, j), share);
    }
  }
  out += "</svg></div>\n";
  return out + (low <= high ? scale_html(low, high, layout.largest) : "") + "</figure>\n";
}

}  // namespace ria
