// SPDX-License-Identifier: MIT
#include "serve/asked.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "archive/bytes.h"

namespace ria {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
      if (low < 0) throw HttpError(400, "a % in the address was not followed by two hex digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      throw HttpError(400, "the address has a control character");
    }
    out += c;
  }
  return out;
}

/// Calls take() with the parts between the separators.
template <typename Take>
void split(std::string_view text, char at, const Take& take) {
  for (;;) {
    const std::size_t end = text.find(at);
    take(text.substr(0, end));
    if (end == text.npos) return;
    text.remove_prefix(end + 1);
  }
}

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

HttpError wrong(const std::string& name, const std::string& value, const std::string& expected) {
  return {400, fmt::format("{} is '{}', {} was expected", name, printable(value), expected)};
}

}  // namespace

Target parse_target(const std::string& target) {
  const std::string_view all(target);
  if (!all.starts_with('/')) throw HttpError(400, "the address does not begin with a slash");
  const std::size_t question = all.find('?');
  Target parsed;
  split(all.substr(1, question == all.npos ? question : question - 1),
        '/',
        [&](std::string_view part) {
          std::string segment = decoded(part, false);
          if (segment == "." || segment == "..") throw HttpError(400, "the address leads upwards");
          parsed.path.push_back(std::move(segment));
        });
  if (question == all.npos) return parsed;
  split(all.substr(question + 1), '&', [&](std::string_view pair) {
    if (pair.empty()) return;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string name = decoded(pair.substr(0, equals), true);
    if (parsed.query.contains(name)) {
      throw HttpError(400, fmt::format("{} is given twice", printable(name)));
    }
    parsed.query[name] = equals < pair.size() ? decoded(pair.substr(equals + 1), true) : "";
  });
  return parsed;
}

std::string Asked::text(const std::string& name) const {
  if (const auto found = target_.query.find(name); found != target_.query.end()) {
    return found->second;
  }
  const auto found = request_.fields.find(name);
  return found == request_.fields.end() ? "" : found->second;
}

double Asked::number(const std::string& name) const {
  const std::string value = text(name);
  if (value.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto number = parsed<double>(value);
  if (!number || !std::isfinite(*number)) throw wrong(name, value, "a number");
  return *number;
}

int Asked::integer(const std::string& name, int otherwise, int least, int most) const {
  const std::string value = text(name);
  if (value.empty()) return otherwise;
  const auto number = parsed<int>(value);
  if (!number || *number < least || *number > most) {
    throw wrong(name, value, fmt::format("a whole number from {} to {}", least, most));
  }
  return *number;
}

bool Asked::flag(const std::string& name) const { return integer(name, 0, 0, 1) == 1; }

std::optional<std::vector<double>> Asked::numbers(const std::string& name,
                                                  std::size_t count) const {
  const std::string value = text(name);
  if (value.empty()) return std::nullopt;
  std::vector<double> all;
  split(value, ',', [&](std::string_view part) {
    const auto number = parsed<double>(part);
    all.push_back(number && std::isfinite(*number) ? *number
                                                   : std::numeric_limits<double>::quiet_NaN());
  });
  const bool good = std::none_of(all.begin(), all.end(), [](double x) { return std::isnan(x); });
  if (all.size() != count || !good) {
    throw wrong(name, value, fmt::format("{} numbers with commas between", count));
  }
  return all;
}

void Asked::only(const std::vector<std::string>& names) const {
  const auto check = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    throw HttpError(
        400,
        fmt::format("there is no parameter '{}' here, only {}",
                    printable(name),
                    names.empty() ? "none at all" : fmt::format("{}", fmt::join(names, ", "))));
  };
  for (const auto& [name, value] : target_.query) check(name);
  for (const auto& [name, value] : request_.fields) check(name);
}

std::optional<int> parse_id(const std::string& text) {
  const auto number = parsed<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace ria
