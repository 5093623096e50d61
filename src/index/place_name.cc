// SPDX-License-Identifier: MIT
// What the name of a picture says of its place.
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "ria/map.h"

namespace ria {

namespace {

/// Fields of @east@north@zone@letter@latitude@longitude@panorama@tile@heading@...
enum Field { kEast = 1, kNorth = 2, kZone = 3, kLetter = 4, kHeading = 9 };

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

double number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? value : Place::kUnknown;
}

}  // namespace

Place place_named(const std::string& name) {
  Place place;
  place.name = name;
  const std::string_view file = std::string_view(name).substr(name.rfind('/') + 1);
  const std::vector<std::string_view> fields = split(file, '@');
  if (fields.size() <= kNorth + 1) return place;
  const double x = number(fields[kEast]), y = number(fields[kNorth]);
  if (std::isnan(x) || std::isnan(y)) return place;
  place.x = x;
  place.y = y;
  if (fields.size() > kLetter && fields[kLetter].size() == 1) {
    const double zone = number(fields[kZone]);
    const char letter = fields[kLetter].front();  // C to M are south of the equator
    const bool known = zone >= 1 && zone <= 60 && letter >= 'C' && letter <= 'X';
    if (known) place.utm_zone = static_cast<int>(letter < 'N' ? -zone : zone);
  }
  if (fields.size() > kHeading) place.heading = number(fields[kHeading]);
  return place;
}

}  // namespace ria
