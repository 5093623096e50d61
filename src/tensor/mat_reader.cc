// SPDX-License-Identifier: MIT
// The elements of a .mat file: a tag (type, size), data, padding to 8 bytes; a matrix is an element
// made of elements, a compressed one is such an element deflated.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "archive/inflate.h"
#include "tensor/mat.h"

namespace ria {

namespace fs = std::filesystem;
using Kind = MatValue::Kind;

namespace {

using Bytes = std::span<const std::uint8_t>;
using Mapping = std::shared_ptr<const MappedFile>;

constexpr std::size_t kHeader = 128;
constexpr int kDeepest = 32;
constexpr std::size_t kMostAxes = 64;
constexpr std::uint32_t kMatrix = 14;
constexpr std::uint32_t kCompressed = 15;

struct StoredType {
  MatType type;
  std::size_t size;
};

std::optional<StoredType> stored_type(std::uint32_t code) {
  switch (code) {
    case 1:
      return StoredType{MatType::i8, 1};
    case 2:
      return StoredType{MatType::u8, 1};
    case 3:
      return StoredType{MatType::i16, 2};
    case 4:
      return StoredType{MatType::u16, 2};
    case 5:
      return StoredType{MatType::i32, 4};
    case 6:
      return StoredType{MatType::u32, 4};
    case 7:
      return StoredType{MatType::f32, 4};
    case 9:
      return StoredType{MatType::f64, 8};
    case 12:
      return StoredType{MatType::i64, 8};
    case 13:
      return StoredType{MatType::u64, 8};
    case 16:
      return StoredType{MatType::utf8, 1};
    case 17:
      return StoredType{MatType::utf16, 2};
    case 18:
      return StoredType{MatType::utf32, 4};
    default:
      return std::nullopt;
  }
}

enum Class : std::uint32_t { kCell = 1, kStruct = 2, kChar = 4, kDouble = 6, kUint64 = 15 };

/// Classes kDouble to kUint64 in their order; there are no unsigned types beyond U8.
constexpr DType kClasses[] = {DType::F64,
                              DType::F32,
                              DType::I8,
                              DType::U8,
                              DType::I16,
                              DType::I32,
                              DType::I32,
                              DType::I64,
                              DType::I64,
                              DType::I64};

struct Element {
  std::uint32_t type = 0;
  Bytes data;
};

/// The elements one after the other; `rest` moves on.
class Elements {
 public:
  Elements(const fs::path& file, Bytes bytes) : file_(file), rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

  Element next() {
    if (rest_.size() < 8) fail("an element is cut short");
    const auto first = load<std::uint32_t>(rest_, 0);
    if (first >> 16 != 0) {  // small: size and type in one word, data in the other
      const std::uint32_t size = first >> 16;
      if (size > 4) fail("a small element is damaged");
      const Element out{first & 0xffff, rest_.subspan(4, size)};
      rest_ = rest_.subspan(8);
      return out;
    }
    const std::uint64_t size = load<std::uint32_t>(rest_, 4);
    if (!inside(8, size, rest_.size())) fail("an element is cut short");
    const Element out{first, rest_.subspan(8, size)};
    const std::uint64_t padded = first == kCompressed ? size : (size + 7) / 8 * 8;
    rest_ = rest_.subspan(std::min<std::uint64_t>(8 + padded, rest_.size()));
    return out;
  }

  [[noreturn]] void fail(std::string_view reason) const {
    throw read_error(file_, fmt::format(".mat file: {}", reason));
  }

 private:
  const fs::path& file_;
  Bytes rest_;
};

struct Named {
  std::string name;
  MatValue value;
};

class MatrixReader {
 public:
  MatrixReader(const fs::path& file, const Mapping& owner) : file_(file), owner_(owner) {}

  /// An element of type matrix.
  Named read(Bytes data, int depth = 0) const {
    Elements parts(file_, data);
    if (depth > kDeepest) parts.fail("it is nested too deeply");
    if (data.empty()) {  // how an empty field is written
      Named out;
      out.value.kind = Kind::number;
      out.value.dims = {0, 0};
      return out;
    }
    const Bytes flags = parts.next().data;
    if (flags.size() != 8) parts.fail("the flags of an array are damaged");
    const auto word = load<std::uint32_t>(flags, 0);
    const std::uint32_t kind = word & 0xff;
    Named out;
    const bool known =
        kind == kCell || kind == kStruct || kind == kChar || (kind >= kDouble && kind <= kUint64);
    if (kind == 17) return out;  // opaque objects have neither dimensions nor a place for them
    out.value.dims = read_dims(parts);
    out.name = as_text(parts.next().data);
    if (!known) return out;
    if (kind == kCell) {
      read_cells(parts, out.value, depth);
    } else if (kind == kStruct) {
      read_fields(parts, out.value, depth);
    } else {
      read_values(parts, out, kind, word);
    }
    return out;
  }

 private:
  std::vector<std::int64_t> read_dims(Elements& parts) const {
    const Element dims = parts.next();
    if (dims.type != 5 || dims.data.size() % 4 != 0 || dims.data.size() / 4 > kMostAxes ||
        dims.data.size() < 8) {
      parts.fail("the dimensions of an array are damaged");
    }
    std::vector<std::int64_t> out;
    for (std::size_t at = 0; at < dims.data.size(); at += 4) {
      out.push_back(load<std::int32_t>(dims.data, at));
    }
    if (!checked_product(out)) parts.fail("the dimensions of an array are damaged");
    return out;
  }

  MatValue read_child(Elements& parts, int depth) const {
    const Element child = parts.next();
    if (child.type != kMatrix) parts.fail("a cell or field is no array");
    return read(child.data, depth + 1).value;
  }

  void read_cells(Elements& parts, MatValue& value, int depth) const {
    value.kind = Kind::cell;
    const std::size_t count = value.size();
    if (count > parts.left() / 8) parts.fail("a cell array is cut short");
    for (std::size_t i = 0; i < count; ++i) value.cells.push_back(read_child(parts, depth));
  }

  void read_fields(Elements& parts, MatValue& value, int depth) const {
    value.kind = Kind::structure;
    const Bytes length_part = parts.next().data;
    if (length_part.size() != 4) parts.fail("the field names of a struct are damaged");
    const std::size_t length = load<std::uint32_t>(length_part, 0);
    const Bytes names = parts.next().data;
    if (length == 0 ? !names.empty() : names.size() % length != 0) {
      parts.fail("the field names of a struct are damaged");
    }
    for (std::size_t at = 0; at < names.size(); at += length) {
      const std::string_view name = as_text(names.subspan(at, length));
      value.field_names.emplace_back(name.substr(0, name.find('\0')));
    }
    const auto count = checked_product(value.dims, value.field_names.size());
    if (!count || *count > parts.left() / 8) parts.fail("a struct is cut short");
    for (std::size_t i = 0; i < *count; ++i) value.fields.push_back(read_child(parts, depth));
  }

  void read_values(Elements& parts, Named& named, std::uint32_t kind, std::uint32_t flags) const {
    MatValue& value = named.value;
    const bool logical = (flags & 0x200) != 0;
    value.kind = kind == kChar ? Kind::text : logical ? Kind::logical : Kind::number;
    value.complex = (flags & 0x800) != 0;
    if (kind != kChar) value.dtype = logical ? DType::BOOL : kClasses[kind - kDouble];
    // A char array without characters has no data at all in some files.
    const Element data = parts.empty() && value.size() == 0 ? Element{2, {}} : parts.next();
    const std::optional<StoredType> type = stored_type(data.type);
    const auto fail = [&](std::string_view reason) {
      throw read_error(file_, fmt::format("array {}: {}", printable(named.name), reason));
    };
    if (!type || (kind != kChar && data.type > 13)) fail("its values are of an unknown type");
    // A character may take several bytes or, as half of a pair, none of its own.
    const bool exact = kind != kChar;
    if (exact && data.data.size() != checked_product(value.dims, type->size)) {
      fail(fmt::format("{} bytes of values do not fit its dimensions", data.data.size()));
    }
    if (data.data.size() % type->size != 0) fail("its values are cut short");
    value.stored = type->type;
    value.bytes = data.data;
    value.owner = owner_;
  }

  const fs::path& file_;
  const Mapping& owner_;
};

/// The matrix inside a compressed element.
Mapping inflate_element(const fs::path& file, Bytes packed, InflateBudget& budget) {
  const auto tag = inflate_start(packed, 8, DeflateForm::zlib);
  if (!tag || tag->size() < 8) throw read_error(file, ".mat file: a compressed element is damaged");
  const std::uint64_t size = std::uint64_t{8} + load<std::uint32_t>(*tag, 4);
  return MappedFile::from_memory(inflate_whole(
      file, ".mat file: a compressed element", packed, size, DeflateForm::zlib, budget));
}

void check_header(const fs::path& file, Bytes bytes) {
  if (bytes.size() < kHeader) throw read_error(file, "the .mat header is cut short");
  const bool hdf5 = starts_with(bytes, "MATLAB 7.3") || load<std::uint16_t>(bytes, 124) == 0x200 ||
                    load<std::uint16_t>(bytes, 124) == 0x2;
  if (hdf5) {
    throw read_error(file,
                     "it is a MATLAB 7.3 file, which is HDF5 and not supported; save it with -v7");
  }
  if (as_text(bytes.subspan(126, 2)) == "MI") {
    throw read_error(file, "the .mat file is big-endian, which is not supported");
  }
  if (as_text(bytes.subspan(126, 2)) != "IM" || load<std::uint16_t>(bytes, 124) != 0x100) {
    throw read_error(file, "a .mat file of version 5 was expected");
  }
}

}  // namespace

bool looks_like_mat(Bytes bytes) {
  if (starts_with(bytes, "MATLAB ")) return true;
  if (bytes.size() < kHeader) return false;
  const std::string_view order = as_text(bytes.subspan(126, 2));
  const auto version = load<std::uint16_t>(bytes, 124);
  return (order == "IM" && version == 0x100) || (order == "MI" && version == 0x1);
}

std::map<std::string, MatValue> read_mat(const fs::path& file, const Mapping& mapping) {
  check_header(file, mapping->bytes());
  Elements elements(file, mapping->bytes().subspan(kHeader));
  InflateBudget budget(mapping->bytes().size());
  std::map<std::string, MatValue> out;
  while (!elements.empty()) {
    Element element = elements.next();
    Mapping owner = mapping;
    if (element.type == kCompressed) {
      owner = inflate_element(file, element.data, budget);
      element = Elements(file, owner->bytes()).next();
    }
    if (element.type != kMatrix) elements.fail("a variable is no array");
    Named named = MatrixReader(file, owner).read(element.data);
    if (named.name.empty()) continue;  // MATLAB's own bookkeeping of objects
    if (!out.emplace(named.name, std::move(named.value)).second) {
      elements.fail(fmt::format("variable {} occurs twice", printable(named.name)));
    }
  }
  return out;
}

std::map<std::string, MatValue> read_mat(const fs::path& file) {
  return read_mat(file, MappedFile::open(file));
}

}  // namespace ria
