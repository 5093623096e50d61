// SPDX-License-Identifier: MIT
// How series look: colours, dashes and markers, the same for a method in every plot of a page.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

namespace ria {

/// Chosen by search so that any two stay apart for readers with protanopia or deuteranopia too
/// (CIELAB distance above 20), with a contrast of at least 3 to the page.
constexpr std::array<const char*, 7> kLightColors = {
    "#0b62c4", "#d0600a", "#4e9c5d", "#7d0c66", "#38a0ba", "#5e422f", "#1919f7"};
constexpr std::array<const char*, 7> kDarkColors = {
    "#6cb2ff", "#ff9a4c", "#19f79e", "#d941ba", "#7cf7f7", "#f7f719", "#e84666"};

/// Style numbers by name, in order of first appearance.
class SeriesStyles {
 public:
  std::size_t of(const std::string& name);

 private:
  std::map<std::string, std::size_t> numbers_;
};

/// CSS class of a style's colour: "c0".
std::string color_class(std::size_t style);
const char* dashes(std::size_t style);
/// Path data of the marker, around the origin.
const char* marker_path(std::size_t style);

/// Rules of the colour classes, for light and dark.
std::string palette_style();

/// What shows the names of series above a plot: wraps on a narrow page.
struct LegendEntry {
  std::string name;
  std::size_t style = 0;
};
std::string legend_html(const std::vector<LegendEntry>& entries);

/// A colour between blue and yellow for 0..1, as readers who see no red or green see it too.
std::array<int, 3> heat_color(double share);

}  // namespace ria
