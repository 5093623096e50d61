// SPDX-License-Identifier: MIT
#include "tensor/mat.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "archive/unicode.h"
#include "tensor/npy_header.h"

namespace ria {

namespace fs = std::filesystem;
using Kind = MatValue::Kind;

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kLongestName = 2000;

template <typename Out, typename In>
void convert(Bytes bytes, std::span<Out> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<Out>(load<In>(bytes, i * sizeof(In)));
  }
}

template <typename Out>
std::vector<Out> converted(const MatValue& value) {
  if (value.kind != Kind::number && value.kind != Kind::logical) {
    throw std::invalid_argument("a .mat value is not numeric");
  }
  if (value.complex) throw std::invalid_argument("complex .mat values are not supported");
  std::vector<Out> out(value.size());
  const std::span<Out> to(out);
  switch (value.stored) {
    case MatType::i8:
      convert<Out, std::int8_t>(value.bytes, to);
      break;
    case MatType::u8:
    case MatType::utf8:
      convert<Out, std::uint8_t>(value.bytes, to);
      break;
    case MatType::i16:
      convert<Out, std::int16_t>(value.bytes, to);
      break;
    case MatType::u16:
    case MatType::utf16:
      convert<Out, std::uint16_t>(value.bytes, to);
      break;
    case MatType::i32:
      convert<Out, std::int32_t>(value.bytes, to);
      break;
    case MatType::u32:
    case MatType::utf32:
      convert<Out, std::uint32_t>(value.bytes, to);
      break;
    case MatType::f32:
      convert<Out, float>(value.bytes, to);
      break;
    case MatType::f64:
      convert<Out, double>(value.bytes, to);
      break;
    case MatType::i64:
      convert<Out, std::int64_t>(value.bytes, to);
      break;
    case MatType::u64:
      convert<Out, std::uint64_t>(value.bytes, to);
      break;
  }
  return out;
}

template <typename T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

/// True if the stored type is the very one of the tensor, so that no value changes.
bool stored_as(DType dtype, MatType stored) {
  switch (dtype) {
    case DType::F64:
      return stored == MatType::f64;
    case DType::F32:
      return stored == MatType::f32;
    case DType::I64:
      return stored == MatType::i64;
    case DType::I32:
      return stored == MatType::i32;
    case DType::I16:
      return stored == MatType::i16;
    case DType::I8:
      return stored == MatType::i8;
    case DType::U8:
    case DType::BOOL:
      return stored == MatType::u8;
    default:
      return false;
  }
}

/// Items of the tensor's type, still column-major.
std::vector<std::uint8_t> items_of(const MatValue& value) {
  const bool real = value.stored == MatType::f32 || value.stored == MatType::f64;
  switch (value.dtype) {
    case DType::F64:
      return bytes_of(converted<double>(value));
    case DType::F32:
      return bytes_of(converted<float>(value));
    default:
      break;
  }
  if (real) throw std::invalid_argument("integers of a .mat value are stored as reals");
  switch (value.dtype) {
    case DType::I64:
      return bytes_of(converted<std::int64_t>(value));
    case DType::I32:
      return bytes_of(converted<std::int32_t>(value));
    case DType::I16:
      return bytes_of(converted<std::int16_t>(value));
    case DType::I8:
      return bytes_of(converted<std::int8_t>(value));
    default:
      return bytes_of(converted<std::uint8_t>(value));
  }
}

/// Code units to code points, for the encodings a char array is stored in.
std::vector<std::uint32_t> code_units(const MatValue& value) {
  std::vector<std::uint32_t> out;
  if (value.stored == MatType::utf8) {
    for (std::size_t i = 0; i < value.bytes.size();) {
      const std::uint8_t lead = value.bytes[i++];
      const int tail = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
      std::uint32_t code = tail == 0 ? lead : lead & (0x3fu >> tail);
      for (int k = 0; k < tail && i < value.bytes.size(); ++k) {
        code = (code << 6) | (value.bytes[i++] & 0x3fu);
      }
      out.push_back(code);
    }
    return out;
  }
  const bool wide = value.stored == MatType::u16 || value.stored == MatType::utf16;
  const bool widest = value.stored == MatType::u32 || value.stored == MatType::utf32;
  const std::size_t item = widest ? 4 : wide ? 2 : 1;
  for (std::size_t at = 0; at + item <= value.bytes.size(); at += item) {
    out.push_back(widest ? load<std::uint32_t>(value.bytes, at)
                  : wide ? load<std::uint16_t>(value.bytes, at)
                         : value.bytes[at]);
  }
  return out;
}

void append_utf16(std::string& out, std::uint32_t& high, std::uint32_t unit) {
  const bool low = unit >= 0xdc00 && unit < 0xe000;
  if (high != 0 && low) {
    append_utf8(out, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
    high = 0;
    return;
  }
  if (high != 0) append_utf8(out, high);
  high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
  if (high == 0) append_utf8(out, unit);
}

class TensorLister {
 public:
  explicit TensorLister(const fs::path& file) : file_(file) {}

  void list(const std::string& name, const MatValue& value) {
    if (name.size() > kLongestName) throw error(name, "its name is too long");
    switch (value.kind) {
      case Kind::number:
      case Kind::logical:
        if (!value.bytes.empty()) add(name, value);
        break;
      case Kind::cell:
        for (std::size_t i = 0; i < value.cells.size(); ++i) {
          list(fmt::format("{}.{}", name, i), value.cells[i]);
        }
        break;
      case Kind::structure:
        for (std::size_t i = 0; i < value.fields.size(); ++i) {
          const std::size_t element = i / value.field_names.size();
          const std::string& field = value.field_names[i % value.field_names.size()];
          list(value.size() == 1 ? fmt::format("{}.{}", name, field)
                                 : fmt::format("{}.{}.{}", name, element, field),
               value.fields[i]);
        }
        break;
      case Kind::text:
      case Kind::opaque:
        break;
    }
  }

  TensorMap take() { return std::move(tensors_); }

 private:
  std::runtime_error error(const std::string& name, std::string_view reason) const {
    return read_error(file_, fmt::format("array {}: {}", printable(name), reason));
  }

  void add(const std::string& name, const MatValue& value) {
    try {
      if (!tensors_.emplace(name, value.tensor()).second) throw error(name, "it occurs twice");
    } catch (const std::invalid_argument& problem) {
      throw error(name, problem.what());
    }
  }

  const fs::path& file_;
  TensorMap tensors_;
};

}  // namespace

std::size_t MatValue::size() const {
  std::size_t out = 1;
  for (const std::int64_t dimension : dims) out *= static_cast<std::size_t>(dimension);
  return out;
}

const MatValue* MatValue::find(std::string_view field, std::size_t element) const {
  if (kind != Kind::structure || element >= size()) return nullptr;
  const auto found = std::find(field_names.begin(), field_names.end(), field);
  if (found == field_names.end()) return nullptr;
  const auto place = static_cast<std::size_t>(found - field_names.begin());
  return &fields[element * field_names.size() + place];
}

std::vector<float> MatValue::floats() const { return converted<float>(*this); }

std::vector<double> MatValue::doubles() const { return converted<double>(*this); }

Tensor MatValue::tensor() const {
  const bool numeric = (kind == Kind::number || kind == Kind::logical) && !complex;
  const bool same = numeric && stored_as(dtype, stored);
  // Along one axis the orders agree.
  const auto axes = std::count_if(dims.begin(), dims.end(), [](auto size) { return size > 1; });
  if (same && axes <= 1) return mapped_tensor(dtype, dims, bytes, owner);
  if (same) return make_tensor(dtype, dims, row_major(bytes, dims, item_size(dtype)));
  return make_tensor(dtype, dims, row_major(items_of(*this), dims, item_size(dtype)));
}

std::vector<std::string> MatValue::rows() const {
  if (kind != Kind::text) throw std::invalid_argument("a .mat value is not text");
  const std::vector<std::uint32_t> units = code_units(*this);
  if (units.empty()) return std::vector<std::string>(dims[0] == 1 ? 1 : 0);
  // Several bytes a character make the count differ from dims; such text is one row.
  const bool matrix = dims.size() == 2 && units.size() == size();
  const std::size_t count = matrix ? static_cast<std::size_t>(dims[0]) : 1;
  std::vector<std::string> out(count);
  for (std::size_t row = 0; row < out.size(); ++row) {
    std::uint32_t high = 0;
    for (std::size_t i = row; i < units.size(); i += count) append_utf16(out[row], high, units[i]);
    if (high != 0) append_utf8(out[row], high);
  }
  return out;
}

TensorFile read_mat_tensors(const fs::path& file,
                            const std::shared_ptr<const MappedFile>& mapping) {
  TensorLister lister(file);
  for (const auto& [name, value] : read_mat(file, mapping)) lister.list(name, value);
  TensorMap tensors = lister.take();
  if (tensors.empty()) throw read_error(file, "the .mat file has no numeric array");
  return {file, WeightFormat::matlab, std::move(tensors), {}};
}

}  // namespace ria
