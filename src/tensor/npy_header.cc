// SPDX-License-Identifier: MIT
#include "tensor/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "archive/bytes.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

// NumPy's limit on dimensions, of version 2.
constexpr std::size_t kMostAxes = 64;

/// The Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  std::optional<NpyHeader> parse() {
    NpyHeader header;
    int seen = 0;
    if (!skip("{")) return std::nullopt;
    while (!skip("}")) {
      std::string key;
      if (!quoted(key) || !skip(":")) return std::nullopt;
      const bool known = (key == "descr" && quoted(header.descr)) ||
                         (key == "fortran_order" && truth(header.fortran_order)) ||
                         (key == "shape" && tuple(header.shape));
      if (!known) return std::nullopt;
      ++seen;
      if (!skip(",") && (rest_.empty() || rest_[0] != '}')) return std::nullopt;
    }
    return seen == 3 ? std::optional(header) : std::nullopt;
  }

 private:
  void spaces() {
    const std::size_t first = rest_.find_first_not_of(" \n\t");
    rest_.remove_prefix(std::min(first, rest_.size()));
  }

  bool skip(std::string_view word) {
    spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    spaces();
    return true;
  }

  bool quoted(std::string& out) {
    spaces();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return false;
    out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool truth(bool& out) {
    out = skip("True");
    return out || skip("False");
  }

  bool tuple(std::vector<std::int64_t>& out) {
    if (!skip("(")) return false;
    out.clear();
    while (!skip(")")) {
      std::int64_t value = 0;
      const char* const begin = rest_.data();
      const auto parsed = std::from_chars(begin, begin + rest_.size(), value);
      if (parsed.ec != std::errc() || value < 0) return false;
      rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - begin));
      out.push_back(value);
      skip("L");  // Python 2 wrote long integers so
      if (!skip(",") && (rest_.empty() || rest_[0] != ')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

}  // namespace

NpyHeader read_npy_header(const fs::path& file, std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 10 || !starts_with(bytes, "\x93NUMPY")) {
    throw read_error(file, "a .npy array was expected");
  }
  const int version = bytes[6];
  if (version < 1 || version > 3) {
    throw read_error(file, fmt::format(".npy version {} was found, 1 to 3 were expected", version));
  }
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) throw read_error(file, "the .npy header is cut short");
  const std::uint64_t length =
      version == 1 ? load<std::uint16_t>(bytes, 8) : load<std::uint32_t>(bytes, 8);
  if (!inside(start, length, bytes.size())) throw read_error(file, "the .npy header is cut short");
  const std::string_view text = as_text(bytes.subspan(start, length));
  std::optional<NpyHeader> header = HeaderParser(text).parse();
  if (!header || header->shape.size() > kMostAxes) {
    throw read_error(file, fmt::format(".npy header {} is damaged", printable(text)));
  }
  header->start = start + length;
  return *header;
}

bool is_text_or_objects(const NpyHeader& header) {
  return header.descr.size() >= 2 &&
         std::string_view("USO").find(header.descr[1]) != std::string_view::npos;
}

std::vector<std::uint8_t> row_major(std::span<const std::uint8_t> from,
                                    const std::vector<std::int64_t>& shape,
                                    std::size_t item) {
  std::vector<std::size_t> strides(shape.size(), item);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    strides[axis] = strides[axis - 1] * static_cast<std::size_t>(shape[axis - 1]);
  }
  std::vector<std::uint8_t> out(from.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::size_t source = 0;
  for (std::size_t to = 0; to + item <= out.size(); to += item) {
    std::memcpy(out.data() + to, from.data() + source, item);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < shape[axis]) break;
      source -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  return out;
}

}  // namespace ria
