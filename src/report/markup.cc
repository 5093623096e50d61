// SPDX-License-Identifier: MIT
#include "report/markup.h"

#include <fmt/format.h>

#include <algorithm>

namespace ria {

std::string escape_markup(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string name_html(std::string_view name) {
  constexpr std::size_t kMost = 72, kHead = 44, kTail = 24;
  const auto wrapping = [](std::string_view text) {
    std::string out;
    for (std::size_t i = 0, start = 0; i < text.size(); ++i) {
      const bool last = i + 1 == text.size();
      const bool breaks = std::string_view(":,/=").find(text[i]) != std::string_view::npos;
      if (!last && !breaks) continue;
      out += escape_markup(text.substr(start, i + 1 - start));
      if (!last) out += "<wbr>";
      start = i + 1;
    }
    return out;
  };
  if (name.size() <= kMost) return wrapping(name);
  // Cut between characters, not inside one of several bytes.
  const auto boundary = [&](std::size_t at) {
    while (at < name.size() && (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80) ++at;
    return at;
  };
  return fmt::format("<span title=\"{}\">{}&hellip;<wbr>{}</span>",
                     escape_markup(name),
                     wrapping(name.substr(0, boundary(kHead))),
                     wrapping(name.substr(boundary(name.size() - kTail))));
}

std::string base64(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) group = group << 8 | (j < count ? bytes[i + j] : 0u);
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace ria
