// SPDX-License-Identifier: MIT
#include "report/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/markup.h"

namespace ria {

namespace {

// The three cycles have lengths without a common divisor, so that a pair of series that shares one
// trait differs in the others.
constexpr std::array<const char*, 4> kDashes = {"", "7 3", "2 3", "9 3 2 3"};
constexpr std::array<const char*, 5> kMarkers = {
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",  // circle
    "M-3 -3H3V3H-3z",                                     // square
    "M0 -4L3.8 3H-3.8z",                                  // triangle up
    "M0 -4.4L4.4 0L0 4.4L-4.4 0z",                        // diamond
    "M0 4L3.8 -3H-3.8z",                                  // triangle down
};

std::string variables(const std::array<const char*, 7>& colors) {
  std::string out;
  for (std::size_t i = 0; i < colors.size(); ++i) out += fmt::format("--c{}: {}; ", i, colors[i]);
  return out;
}

}  // namespace

std::size_t SeriesStyles::of(const std::string& name) {
  return numbers_.try_emplace(name, numbers_.size()).first->second;
}

std::string color_class(std::size_t style) {
  return fmt::format("c{}", style % kLightColors.size());
}
const char* dashes(std::size_t style) { return kDashes[style % kDashes.size()]; }
const char* marker_path(std::size_t style) { return kMarkers[style % kMarkers.size()]; }

std::string palette_style() {
  std::string out =
      fmt::format("\n:root {{ {}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {}}} }}\n",
                  variables(kLightColors),
                  variables(kDarkColors));
  for (std::size_t i = 0; i < kLightColors.size(); ++i) {
    out += fmt::format(".c{0} {{ --c: var(--c{0}); }}\n", i);
  }
  return out;
}

std::string legend_html(const std::vector<LegendEntry>& entries) {
  std::string out = "<ul class=\"legend\">\n";
  for (const LegendEntry& entry : entries) {
    fmt::format_to(std::back_inserter(out),
                   "<li><svg class=\"chart sample {}\" viewBox=\"0 0 34 10\" aria-hidden=\"true\">"
                   "<path class=\"line\" stroke-dasharray=\"{}\" d=\"M0 5H34\"/>"
                   "<path class=\"marker\" transform=\"translate(17 5)\" d=\"{}\"/></svg>"
                   "<span>{}</span></li>\n",
                   color_class(entry.style),
                   dashes(entry.style),
                   marker_path(entry.style),
                   name_html(entry.name));
  }
  return out + "</ul>\n";
}

std::array<int, 3> heat_color(double share) {
  // Cividis at every eighth.
  constexpr std::array<std::array<int, 3>, 9> kStops = {{{0, 34, 78},
                                                         {18, 53, 112},
                                                         {59, 73, 108},
                                                         {87, 93, 109},
                                                         {112, 113, 115},
                                                         {138, 134, 120},
                                                         {168, 157, 117},
                                                         {207, 186, 98},
                                                         {253, 231, 55}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  std::array<int, 3> color{};
  for (int c = 0; c < 3; ++c) {
    const double mixed = std::lerp(static_cast<double>(kStops[below][c]),
                                   static_cast<double>(kStops[below + 1][c]),
                                   at - static_cast<double>(below));
    color[c] = static_cast<int>(std::lround(mixed));
  }
  return color;
}

}  // namespace ria
