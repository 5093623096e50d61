// SPDX-License-Identifier: MIT
#include "weights/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "util/files.h"
#include "weights/bytes.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// The Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  std::optional<Header> parse() {
    Header header;
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

/// Header and the offset of the values.
std::pair<Header, std::size_t> read_header(const fs::path& file,
                                           std::span<const std::uint8_t> bytes) {
  const bool magic =
      bytes.size() >= 10 &&
      std::equal(kMagic.begin(), kMagic.end(), bytes.begin(), [](char a, std::uint8_t b) {
        return static_cast<std::uint8_t>(a) == b;
      });
  if (!magic) throw read_error(file, "a .npy array was expected");
  const int version = bytes[6];
  if (version < 1 || version > 3) {
    throw read_error(file, fmt::format(".npy version {} was found, 1 to 3 were expected", version));
  }
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) throw read_error(file, "the .npy header is cut short");
  const std::uint64_t length =
      version == 1 ? load<std::uint16_t>(bytes, 8) : load<std::uint32_t>(bytes, 8);
  if (!inside(start, length, bytes.size())) throw read_error(file, "the .npy header is cut short");
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + start, length);
  const std::optional<Header> header = HeaderParser(text).parse();
  if (!header) throw read_error(file, fmt::format(".npy header {} is damaged", printable(text)));
  return {*header, start + length};
}

struct Source {
  DType dtype;
  std::size_t item;
  bool widen;  // an unsigned type without a DType of its own
};

std::optional<Source> source_of(std::string_view code) {
  if (code == "f8") return Source{DType::F64, 8, false};
  if (code == "f4") return Source{DType::F32, 4, false};
  if (code == "f2") return Source{DType::F16, 2, false};
  if (code == "i8") return Source{DType::I64, 8, false};
  if (code == "i4") return Source{DType::I32, 4, false};
  if (code == "i2") return Source{DType::I16, 2, false};
  if (code == "i1") return Source{DType::I8, 1, false};
  if (code == "u1") return Source{DType::U8, 1, false};
  if (code == "b1") return Source{DType::BOOL, 1, false};
  if (code == "u2") return Source{DType::I32, 2, true};
  if (code == "u4") return Source{DType::I64, 4, true};
  return std::nullopt;
}

/// Position in Fortran order of the item after the one at `index`, which moves on in C order.
std::size_t next(std::vector<std::int64_t>& index,
                 const std::vector<std::int64_t>& shape,
                 const std::vector<std::size_t>& strides,
                 std::size_t from) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    from += strides[axis];
    if (++index[axis] < shape[axis]) break;
    from -= strides[axis] * static_cast<std::size_t>(shape[axis]);
    index[axis] = 0;
  }
  return from;
}

}  // namespace

Tensor read_npy(const fs::path& file) {
  const auto mapping = MappedFile::open(file);
  const auto bytes = mapping->bytes();
  const auto [header, start] = read_header(file, bytes);
  const char order = header.descr.empty() ? '?' : header.descr[0];
  const auto source = source_of(std::string_view(header.descr).substr(order == '?' ? 0 : 1));
  if (!source || std::string_view("<>|=").find(order) == std::string_view::npos) {
    throw read_error(file, fmt::format("dtype {} is not supported", printable(header.descr)));
  }
  const auto data = bytes.subspan(start);
  const auto size = checked_product(header.shape, source->item);
  const std::size_t width = item_size(source->dtype);
  if (!size || *size != data.size() || !checked_product(header.shape, width)) {
    throw read_error(file,
                     fmt::format("{} bytes of values do not fit its shape and dtype", data.size()));
  }
  const bool swapped = order == '>' && source->item > 1;
  if (!swapped && !source->widen && !header.fortran_order) {
    return {source->dtype, header.shape, data, mapping};
  }
  std::vector<std::size_t> strides(header.shape.size(), 1);
  const std::size_t axes = header.shape.size();
  for (std::size_t i = 1; i < axes; ++i) {
    const std::size_t axis = header.fortran_order ? i : axes - 1 - i;
    const std::size_t before = header.fortran_order ? axis - 1 : axis + 1;
    strides[axis] = strides[before] * static_cast<std::size_t>(header.shape[before]);
  }
  const std::size_t count = *size / source->item;
  std::vector<std::uint8_t> out(count * width, 0);
  std::vector<std::int64_t> index(axes, 0);
  for (std::size_t i = 0, from = 0; i < count; ++i) {
    std::uint8_t* const to = out.data() + i * width;
    std::memcpy(to, data.data() + from * source->item, source->item);
    if (swapped) std::reverse(to, to + source->item);
    from = next(index, header.shape, strides, from);
  }
  return make_tensor(source->dtype, header.shape, std::move(out));
}

void write_npy(const fs::path& file, const float* values, std::int64_t rows, std::int64_t cols) {
  const auto size = rows < 0 || cols < 0 ? std::nullopt : checked_product({rows, cols}, 4);
  if (!size) throw std::invalid_argument(fmt::format("a {} x {} array has no size", rows, cols));
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  // NumPy aligns the values to 64 bytes and ends the header with a newline.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());

  AtomicFile out(file);
  out.write(kMagic);
  out.write(std::string_view("\x01\x00", 2));
  out.write_values(std::span<const std::uint16_t>(&length, 1));
  out.write(header);
  if (*size != 0) out.write_values(std::span<const float>(values, *size / sizeof(float)));
  out.commit();
}

}  // namespace ria
