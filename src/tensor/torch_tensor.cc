// SPDX-License-Identifier: MIT
#include "tensor/torch_tensor.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace ria {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostAxes = 64;  // torch's limit
constexpr std::uint64_t kCopyAllowance = std::uint64_t{64} << 20;

const std::map<std::string, DType, std::less<>> kStorages{
    {"DoubleStorage", DType::F64},
    {"FloatStorage", DType::F32},
    {"HalfStorage", DType::F16},
    {"BFloat16Storage", DType::BF16},
    {"LongStorage", DType::I64},
    {"IntStorage", DType::I32},
    {"ShortStorage", DType::I16},
    {"CharStorage", DType::I8},
    {"ByteStorage", DType::U8},
    {"BoolStorage", DType::BOOL},
};

std::optional<DType> storage_dtype(std::string_view global) {
  // Old files say torch.cuda.FloatStorage of what was on a graphics card.
  for (const std::string_view module : {"torch ", "torch.cuda "}) {
    if (!global.starts_with(module)) continue;
    const auto found = kStorages.find(global.substr(module.size()));
    if (found != kStorages.end()) return found->second;
  }
  return std::nullopt;
}

/// The value a parameter wraps; itself if it wraps nothing.
const PickleValue& unwrap(const PickleValue& value) {
  const PickleValue* inner = &value;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const bool wraps = inner->kind == Kind::reduced && !inner->items.empty() &&
                       inner->text.starts_with("torch._utils _rebuild_parameter");
    if (!wraps) break;
    inner = inner->items[0];
  }
  return *inner;
}

Tensor gather(DType dtype,
              std::span<const std::uint8_t> bytes,
              std::size_t offset,
              std::vector<std::int64_t> shape,
              const std::vector<std::int64_t>& strides) {
  const std::size_t item = item_size(dtype);
  std::vector<std::uint8_t> out(*checked_product(shape, item));
  std::vector<std::int64_t> index(shape.size(), 0);
  std::size_t from = offset;
  for (std::size_t to = 0; to < out.size(); to += item) {
    std::memcpy(out.data() + to, bytes.data() + from * item, item);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += static_cast<std::size_t>(strides[axis]);
      if (++index[axis] < shape[axis]) break;
      from -= static_cast<std::size_t>(strides[axis]) * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  return make_tensor(dtype, std::move(shape), std::move(out));
}

}  // namespace

std::optional<TorchStorageId> parse_storage_id(const PickleValue& id, std::string& problem) {
  problem = "its storage is missing";
  if (id.kind != Kind::persistent_id || id.items[0]->kind != Kind::tuple) return std::nullopt;
  const auto& parts = id.items[0]->items;
  problem = "its storage is damaged";
  if (parts.size() < 5 || parts[0]->kind != Kind::string || parts[0]->text != "storage" ||
      parts[1]->kind != Kind::global || parts[2]->kind != Kind::string ||
      parts[4]->kind != Kind::integer || parts[4]->integer < 0) {
    return std::nullopt;
  }
  const std::optional<DType> dtype = storage_dtype(parts[1]->text);
  if (!dtype) {
    problem = fmt::format("storage {} is not supported", printable(parts[1]->text));
    return std::nullopt;
  }
  TorchStorageId out{*dtype, parts[2]->text, parts[4]->integer, 0, parts[4]->integer};
  if (parts.size() == 5 || parts[5]->kind == Kind::none) return out;
  // (view key, offset, size)
  const auto& view = parts[5]->items;
  const bool whole = parts[5]->kind == Kind::tuple && view.size() == 3 &&
                     view[1]->kind == Kind::integer && view[2]->kind == Kind::integer;
  if (!whole || view[1]->integer < 0 || view[2]->integer < 0 ||
      !inside(static_cast<std::uint64_t>(view[1]->integer),
              static_cast<std::uint64_t>(view[2]->integer),
              static_cast<std::uint64_t>(out.count))) {
    return std::nullopt;
  }
  out.view_offset = view[1]->integer;
  out.view_count = view[2]->integer;
  return out;
}

bool is_torch_tensor(const PickleValue& value) {
  const PickleValue& inner = unwrap(value);
  return inner.kind == Kind::reduced && (inner.text.starts_with("torch._utils _rebuild_tensor") ||
                                         inner.text == "torch._tensor _rebuild_from_type_v2");
}

TorchTensorReader::TorchTensorReader(const fs::path& file,
                                     const std::shared_ptr<const MappedFile>& mapping,
                                     const TorchStorages& storages)
    : file_(file),
      mapping_(mapping),
      storages_(storages),
      copies_left_(kCopyAllowance + 4 * std::uint64_t{mapping->bytes().size()}) {}

void TorchTensorReader::fail(const std::string& name, std::string_view reason) const {
  throw read_error(file_, fmt::format("tensor {}: {}", printable(name), reason));
}

std::vector<std::int64_t> TorchTensorReader::sizes(const std::string& name,
                                                   const PickleValue& value) const {
  // torch.Size((2, 3)) or the plain tuple
  const bool wrapped = value.kind == Kind::reduced && value.items.size() == 1;
  const PickleValue& tuple = wrapped ? *value.items[0] : value;
  if (tuple.kind != Kind::tuple || tuple.items.size() > kMostAxes) {
    fail(name, "its shape or strides are no tuple");
  }
  std::vector<std::int64_t> out;
  for (const PickleValue* item : tuple.items) {
    if (item->kind != Kind::integer || item->integer < 0) {
      fail(name, "its shape or strides are no sizes");
    }
    out.push_back(item->integer);
  }
  return out;
}

TorchTensorReader::Source TorchTensorReader::source(const std::string& name,
                                                    const PickleValue& value) const {
  std::string problem;
  const std::optional<TorchStorageId> id = parse_storage_id(value, problem);
  if (!id) fail(name, problem);
  const auto bytes = storages_.find(id->key);
  if (!bytes) fail(name, fmt::format("storage {} is missing", printable(id->key)));
  const std::size_t item = item_size(id->dtype);
  const auto size = checked_product({id->count}, item);
  if (!size || *size != bytes->size()) {
    fail(name, fmt::format("storage has {} bytes, not {} values", bytes->size(), id->count));
  }
  return {id->dtype,
          bytes->subspan(static_cast<std::size_t>(id->view_offset) * item,
                         static_cast<std::size_t>(id->view_count) * item)};
}

Tensor TorchTensorReader::read(const std::string& name, const PickleValue& value) {
  const PickleValue* inner = &unwrap(value);
  const auto* arguments = &inner->items;
  if (inner->text == "torch._tensor _rebuild_from_type_v2") {  // (function, type, args, state)
    const bool known = arguments->size() >= 3 && (*arguments)[0]->kind == Kind::global &&
                       (*arguments)[0]->text == "torch._utils _rebuild_tensor_v2" &&
                       (*arguments)[2]->kind == Kind::tuple;
    if (!known) fail(name, "its type is not supported");
    arguments = &(*arguments)[2]->items;
  }
  if (arguments->size() < 4 || (*arguments)[1]->kind != Kind::integer) fail(name, "it is damaged");
  return view(name,
              source(name, *(*arguments)[0]),
              (*arguments)[1]->integer,
              sizes(name, *(*arguments)[2]),
              sizes(name, *(*arguments)[3]));
}

Tensor TorchTensorReader::view(const std::string& name,
                               const Source& source,
                               std::int64_t offset,
                               std::vector<std::int64_t> shape,
                               const std::vector<std::int64_t>& strides) {
  const std::size_t item = item_size(source.dtype);
  const auto size = checked_product(shape, item);
  if (!size || shape.size() != strides.size() || offset < 0) fail(name, "its shape is damaged");
  if (*size == 0) return mapped_tensor(source.dtype, std::move(shape), {}, mapping_);

  bool contiguous = true;
  auto last = static_cast<std::uint64_t>(offset);
  std::uint64_t expected_stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto length = static_cast<std::uint64_t>(shape[i]);
    const auto stride = static_cast<std::uint64_t>(strides[i]);
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(length - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      fail(name, "its strides are damaged");
    }
    contiguous = contiguous && (length == 1 || stride == expected_stride);
    expected_stride *= length;  // cannot overflow: the product of the shape was checked
  }
  if (last >= source.bytes.size() / item) fail(name, "it reaches beyond its storage");
  const auto first = static_cast<std::size_t>(offset);
  if (contiguous) {
    const auto bytes = source.bytes.subspan(first * item, *size);
    return mapped_tensor(source.dtype, std::move(shape), bytes, mapping_);
  }
  if (*size > copies_left_) fail(name, "its strides unfold it far beyond the size of the file");
  copies_left_ -= *size;
  return gather(source.dtype, source.bytes, first, std::move(shape), strides);
}

}  // namespace ria
