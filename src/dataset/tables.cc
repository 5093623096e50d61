// SPDX-License-Identifier: MIT
#include "dataset/tables.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "archive/bytes.h"
#include "dataset/pictures.h"
#include "tensor/npy.h"
#include "tensor/npy_header.h"
#include "tensor/npy_objects.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

bool holds_objects(const fs::path& file) {
  return is_text_or_objects(read_npy_header(file, MappedFile::open(file)->bytes()));
}

/// A whole number that may be a position; anything else is one that no database has.
std::int64_t to_position(double value) {
  constexpr double kLimit = 1e15;
  const bool whole = std::abs(value) < kLimit && value == std::floor(value);
  return whole ? static_cast<std::int64_t>(value) : -1;
}

ListedPositives numeric_lists(const fs::path& file) {
  ListedPositives found;
  const Tensor table = read_npy(file);
  if (table.shape.empty() || table.shape.size() > 2) {
    throw read_error(file, "one list of positives a query was expected");
  }
  const std::vector<double> values = table.doubles();
  const std::size_t rows = static_cast<std::size_t>(table.shape[0]);
  const std::size_t columns =
      table.shape.size() == 2 ? static_cast<std::size_t>(table.shape[1]) : 1;
  for (std::size_t row = 0; row < rows; ++row) {
    found.lists.emplace_back();
    for (std::size_t i = 0; i < columns; ++i) {
      found.lists.back().push_back(to_position(values[row * columns + i]));
    }
  }
  return found;
}

double plain_number(const PickleValue& value, const fs::path& file) {
  if (value.kind == PickleValue::Kind::real) return value.number;
  if (value.kind == PickleValue::Kind::integer) return static_cast<double>(value.integer);
  throw read_error(file, "an array of numbers was expected");
}

}  // namespace

ListedPositives read_positive_lists(const fs::path& file) {
  if (!holds_objects(file)) return numeric_lists(file);
  const ObjectArray array = read_npy_objects(file);
  const auto& shape = array.shape();
  if (shape.empty() || shape.size() > 2) {
    throw read_error(file, "one list of positives a query was expected");
  }
  ListedPositives found;
  const std::size_t columns = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : 1;
  if (columns == 0) throw read_error(file, "one list of positives a query was expected");
  const bool numbered =
      columns == 2 && array.size() > 0 && array.value(1).kind != PickleValue::Kind::integer;
  for (std::size_t at = 0; at < array.size(); at += columns) {
    std::vector<std::int64_t> list;
    if (numbered) found.query.push_back(array.integer(at));
    for (std::size_t i = numbered ? 1 : 0; i < columns; ++i) {
      const auto more = array.integers(at + i);
      list.insert(list.end(), more.begin(), more.end());
    }
    found.lists.push_back(std::move(list));
  }
  return found;
}

std::vector<std::vector<double>> read_rows(const fs::path& file) {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  if (holds_objects(file)) {
    const ObjectArray array = read_npy_objects(file);
    shape = array.shape();
    for (std::size_t i = 0; i < array.size(); ++i) {
      values.push_back(plain_number(array.value(i), file));
    }
  } else {
    const Tensor tensor = read_npy(file);
    shape = tensor.shape;
    values = tensor.doubles();
  }
  if (shape.size() != 2) throw read_error(file, "an array with two axes was expected");
  const std::size_t columns = static_cast<std::size_t>(shape[1]);
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(shape[0]));
  for (std::size_t i = 0; i < rows.size() && columns > 0; ++i) {
    rows[i].assign(values.begin() + static_cast<std::ptrdiff_t>(i * columns),
                   values.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
  }
  return rows;
}

std::map<std::string, std::vector<std::string>> read_csv(const fs::path& file) {
  const auto cells = [](std::string_view line) {
    std::vector<std::string> all(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == ',' && !quoted) {
        all.emplace_back();
      } else if (c == '"') {
        quoted = !quoted;
      } else {
        all.back() += c;
      }
    }
    return all;
  };
  const std::vector<std::string> lines = read_lines(file);
  if (lines.empty()) throw read_error(file, "a line with the columns' titles was expected");
  std::string_view first = lines[0];
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (first.starts_with(kByteOrderMark)) first.remove_prefix(kByteOrderMark.size());
  const std::vector<std::string> titles = cells(first);
  std::map<std::string, std::vector<std::string>> columns;
  for (const std::string& title : titles) columns[title];
  for (std::size_t row = 1; row < lines.size(); ++row) {
    std::vector<std::string> values = cells(lines[row]);
    values.resize(titles.size());
    for (std::size_t i = 0; i < titles.size(); ++i) columns[titles[i]].push_back(values[i]);
  }
  return columns;
}

double to_number(const std::string& text, const std::string& where) {
  const std::size_t first = text.find_first_not_of(" \t");
  const std::size_t last = text.find_last_not_of(" \t");
  double value = 0;
  if (first != std::string::npos) {
    const char* const end = text.data() + last + 1;
    const auto [stop, error] = std::from_chars(text.data() + first, end, value);
    if (error == std::errc() && stop == end && std::isfinite(value)) return value;
  }
  throw std::runtime_error(fmt::format("{}: '{}' is no number", where, printable(text)));
}

}  // namespace ria
