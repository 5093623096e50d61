// SPDX-License-Identifier: MIT
#include "index/server_name.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace ria {

namespace {

constexpr std::string_view kStars = "***";

/// Where the passwords of a name are: behind the user's name, and in a parameter.
std::vector<std::string> passwords(std::string_view name) {
  std::vector<std::string> found;
  const std::size_t begin = name.find("://") + 3;
  const std::size_t question = name.find('?', begin);
  // An @ within a password belongs to it, as in what libpq would refuse.
  const std::size_t at = name.substr(0, question).rfind('@');
  if (at != name.npos && at >= begin) {
    const std::string_view user = name.substr(begin, at - begin);
    if (user.find(':') != user.npos) found.emplace_back(user.substr(user.find(':') + 1));
  }
  for (std::size_t key = name.find("password=", begin); key != name.npos;
       key = name.find("password=", key + 1)) {
    const std::size_t first = key + 9, end = name.find('&', first);
    found.emplace_back(name.substr(first, end == name.npos ? end : end - first));
  }
  return found;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

int number_in(const std::string& key, const std::string& text, int low, int high) {
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value >= low &&
      value <= high) {
    return value;
  }
  throw std::invalid_argument(
      fmt::format("{} is '{}', {} to {} was expected", key, text, low, high));
}

std::string identifier(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  bool good = !text.empty() && text.size() <= 63 && letter(text[0]) && !text.starts_with("pg_");
  for (const char c : text) good = good && (letter(c) || (c >= '0' && c <= '9'));
  if (good) return text;
  throw std::invalid_argument(
      fmt::format("schema is '{}', lower-case letters, digits and _ were expected", text));
}

}  // namespace

bool is_server_name(const std::filesystem::path& file) {
  const std::string& name = file.native();
  return name.starts_with("postgresql://") || name.starts_with("postgres://");
}

std::string shown_name(const std::string& name) {
  if (!is_server_name(name)) return name;
  std::string shown = name;
  for (const std::string& password : passwords(name)) {
    for (const char* before : {":", "password="}) {
      for (const char* behind : {"@", "&", ""}) {
        const std::string from = before + password + behind;
        if (*behind == '\0' && !shown.ends_with(from)) continue;
        shown = replaced(shown, from, fmt::format("{}{}{}", before, kStars, behind));
      }
    }
  }
  return shown;
}

ServerName::ServerName(const std::string& given) : name(given), shown(shown_name(given)) {
  const std::size_t question = name.find('?');
  url = name.substr(0, question);
  char next = '?';
  for (std::size_t at = question; at != name.npos;) {
    const std::size_t end = name.find('&', at + 1);
    const std::string part = name.substr(at + 1, end == name.npos ? end : end - at - 1);
    at = end;
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == part.npos ? "" : part.substr(equals + 1);
    if (key == "schema") {
      schema = identifier(value);
    } else if (key == "ef_search") {
      ef_search = number_in(key, value, 1, 1000);
    } else if (key == "retry_seconds") {
      retry_seconds = number_in(key, value, 0, 86400);
    } else if (key == "search") {
      exact = value == "exact";
      if (!exact && value != "auto") {
        throw std::invalid_argument(
            fmt::format("search is '{}', exact or auto was expected", value));
      }
    } else if (!part.empty()) {
      url += next + part;
      next = '&';
    }
  }
}

std::string ServerName::without_password(std::string text) const {
  text = replaced(std::move(text), name, shown);
  text = replaced(std::move(text), url, shown_name(url));
  for (const std::string& password : passwords(name)) {
    text = replaced(std::move(text), password, kStars);
  }
  return text;
}

}  // namespace ria
