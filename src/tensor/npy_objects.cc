// SPDX-License-Identifier: MIT
#include "tensor/npy_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "archive/bytes.h"
#include "archive/unicode.h"
#include "tensor/npy_header.h"
#include "tensor/pickled_array.h"

namespace ria {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr int kDeepest = 16;
// A pickle may share its parts, so a small one can unfold into an endless list.
constexpr std::size_t kMostIntegers = std::size_t{1} << 24;

std::int64_t load_integer(Bytes item, bool is_signed, bool swapped) {
  std::uint8_t raw[8] = {};
  std::copy(item.begin(), item.end(), raw);
  if (swapped) std::reverse(raw, raw + item.size());
  if (is_signed && (raw[item.size() - 1] & 0x80) != 0) std::fill(raw + item.size(), raw + 8, 0xff);
  return load<std::int64_t>(raw, 0);
}

/// Fails by returning false, so that the caller can say which element it was.
class IntegerCollector {
 public:
  bool collect(const PickleValue& value, int depth = 0) {
    if (depth > kDeepest || ++visits_ > kMostIntegers) return false;
    switch (value.kind) {
      case Kind::integer:
      case Kind::boolean:
        return add(value.integer);
      case Kind::list:
      case Kind::tuple:
        return std::all_of(value.items.begin(), value.items.end(), [&](const PickleValue* item) {
          return collect(*item, depth + 1);
        });
      case Kind::reduced:
        return is_pickled_array(value) ? collect_array(value, depth) : collect_scalar(value);
      default:
        return false;
    }
  }

  std::vector<std::int64_t> take() { return std::move(values_); }

 private:
  bool add(std::int64_t value) {
    if (values_.size() == kMostIntegers) return false;
    values_.push_back(value);
    return true;
  }

  /// numpy.core.multiarray.scalar(dtype, bytes)
  bool collect_scalar(const PickleValue& value) {
    PickledArray array;
    const bool scalar = value.text.ends_with("multiarray scalar") && value.items.size() == 2 &&
                        read_pickled_dtype(*value.items[0], array);
    if (!scalar) return false;
    array.values = value.items[1];
    return collect_items(array, 1);
  }

  bool collect_array(const PickleValue& value, int depth) {
    const std::optional<PickledArray> array = read_pickled_array(value);
    if (!array) return false;
    if (array->dtype.starts_with('O')) return collect(*array->values, depth + 1);
    const auto count = checked_product(array->shape);
    const bool flat = array->shape.size() <= 1 || !array->fortran_order;
    return count && flat && collect_items(*array, *count);
  }

  bool collect_items(const PickledArray& array, std::uint64_t count) {
    const std::string_view code = array.dtype;
    std::size_t size = 0;
    const bool known = code.size() == 2 && (code[0] == 'i' || code[0] == 'u') &&
                       std::from_chars(code.data() + 1, code.data() + 2, size).ec == std::errc() &&
                       (size == 1 || size == 2 || size == 4 || size == 8);
    const bool text = array.values->kind == Kind::bytes || array.values->kind == Kind::string;
    if (!known || !text || array.values->text.size() / size != count ||
        array.values->text.size() % size != 0) {
      return false;
    }
    const Bytes bytes(reinterpret_cast<const std::uint8_t*>(array.values->text.data()),
                      array.values->text.size());
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      if (!add(load_integer(bytes.subspan(at, size), code[0] == 'i', array.order == '>'))) {
        return false;
      }
    }
    return true;
  }

  std::vector<std::int64_t> values_;
  std::size_t visits_ = 0;
};

/// Code points or bytes, padded by zeros at the end.
std::string fixed_text(Bytes item, bool wide, bool swapped) {
  if (!wide) {
    const std::string_view text = as_text(item);
    return std::string(text.substr(0, text.find_last_not_of('\0') + 1));
  }
  std::string out;
  std::size_t end = 0;
  for (std::size_t at = 0; at < item.size(); at += 4) {
    auto code = load<std::uint32_t>(item, at);
    if (swapped) code = __builtin_bswap32(code);
    append_utf8(out, code);
    if (code != 0) end = out.size();
  }
  out.resize(end);
  return out;
}

TextArray text_of_objects(const ObjectArray& objects) {
  TextArray out{objects.shape(), {}};
  for (std::size_t i = 0; i < objects.size(); ++i) out.values.push_back(objects.text(i));
  return out;
}

}  // namespace

TextArray read_npy_text(const fs::path& file, Bytes bytes) {
  const NpyHeader header = read_npy_header(file, bytes);
  if (header.descr.size() >= 2 && header.descr[1] == 'O') {
    return text_of_objects(read_npy_objects(file, bytes));
  }
  const bool wide = header.descr.size() > 2 && header.descr[1] == 'U';
  std::uint64_t length = 0;
  const char* const end = header.descr.data() + header.descr.size();
  const bool text = is_text_or_objects(header) && header.descr.size() > 2 &&
                    std::from_chars(header.descr.data() + 2, end, length).ptr == end;
  if (!text || header.fortran_order) {
    throw read_error(file,
                     fmt::format("an array of text in C order was expected, not of dtype {}",
                                 printable(header.descr)));
  }
  const Bytes data = bytes.subspan(header.start);
  const auto count = checked_product(header.shape);
  std::uint64_t item = 0;
  std::uint64_t size = 0;
  if (!count || __builtin_mul_overflow(length, std::uint64_t{wide ? 4u : 1u}, &item) ||
      __builtin_mul_overflow(item, *count, &size) || size != data.size() ||
      (item == 0 && *count > bytes.size())) {
    throw read_error(file,
                     fmt::format("{} bytes of text do not fit its shape and dtype", data.size()));
  }
  TextArray out{header.shape, {}};
  out.values.reserve(*count);
  for (std::size_t i = 0; i < *count; ++i) {
    out.values.push_back(fixed_text(data.subspan(i * item, item), wide, header.descr[0] == '>'));
  }
  return out;
}

TextArray read_npy_text(const fs::path& file) {
  const auto mapping = MappedFile::open(file);
  return read_npy_text(file, mapping->bytes());
}

ObjectArray::ObjectArray(fs::path file, Pickle pickle)
    : file_(std::move(file)), pickle_(std::move(pickle)) {
  const std::optional<PickledArray> array = read_pickled_array(pickle_.root());
  const bool whole = array && array->dtype.starts_with('O') && array->values->kind == Kind::list &&
                     (array->shape.size() <= 1 || !array->fortran_order);
  const auto count = whole ? checked_product(array->shape) : std::nullopt;
  if (!count || *count != array->values->items.size()) {
    throw read_error(file_, "the pickle is not a whole NumPy array of objects in C order");
  }
  shape_ = array->shape;
  items_ = &array->values->items;
}

void ObjectArray::fail(std::size_t element, std::string_view expected) const {
  throw read_error(file_, fmt::format("element {} is not {}", element, expected));
}

std::int64_t ObjectArray::integer(std::size_t element) const {
  const std::vector<std::int64_t> all = integers(element);
  const Kind kind = value(element).kind;
  if (all.size() != 1 || kind == Kind::list || kind == Kind::tuple) fail(element, "an integer");
  return all[0];
}

std::vector<std::int64_t> ObjectArray::integers(std::size_t element) const {
  IntegerCollector collector;
  if (!collector.collect(value(element))) fail(element, "an integer or a list of integers");
  return collector.take();
}

std::string ObjectArray::text(std::size_t element) const {
  const PickleValue& item = value(element);
  if (item.kind != Kind::string && item.kind != Kind::bytes) fail(element, "a string");
  return item.text;
}

ObjectArray read_npy_objects(const fs::path& file, Bytes bytes) {
  const NpyHeader header = read_npy_header(file, bytes);
  if (header.descr != "|O") {
    throw read_error(
        file,
        fmt::format("an array of objects was expected, not of dtype {}", printable(header.descr)));
  }
  ObjectArray out(file, Pickle::parse(bytes.subspan(header.start), file));
  if (out.shape() != header.shape) {
    throw read_error(file, "the pickled array has another shape than the header says");
  }
  return out;
}

ObjectArray read_npy_objects(const fs::path& file) {
  const auto mapping = MappedFile::open(file);
  return read_npy_objects(file, mapping->bytes());
}

}  // namespace ria
