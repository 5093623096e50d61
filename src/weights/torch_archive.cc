// SPDX-License-Identifier: MIT
#include "weights/torch_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weights/pickle.h"
#include "weights/zip.h"

namespace ria {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

namespace {

using Members = std::map<std::string, std::span<const std::uint8_t>>;

// A pickle may share its parts, so a small one can unfold into an endless tree.
constexpr int kDeepest = 64;
constexpr std::size_t kMostVisits = 1'000'000;
constexpr std::size_t kLongestName = 2000;
constexpr std::uint64_t kCopyAllowance = std::uint64_t{64} << 20;

const std::map<std::string, DType, std::less<>> kStorages{
    {"torch DoubleStorage", DType::F64},
    {"torch FloatStorage", DType::F32},
    {"torch HalfStorage", DType::F16},
    {"torch BFloat16Storage", DType::BF16},
    {"torch LongStorage", DType::I64},
    {"torch IntStorage", DType::I32},
    {"torch ShortStorage", DType::I16},
    {"torch CharStorage", DType::I8},
    {"torch ByteStorage", DType::U8},
    {"torch BoolStorage", DType::BOOL},
};

class Archive {
 public:
  Archive(const fs::path& file, std::shared_ptr<const MappedFile> mapping)
      : file_(file),
        mapping_(std::move(mapping)),
        members_(read_stored_zip(file, mapping_->bytes())),
        copies_left_(kCopyAllowance + 4 * std::uint64_t{mapping_->bytes().size()}) {
    for (const auto& [name, bytes] : members_) {
      const std::size_t slash = name.find('/');
      if (slash != std::string::npos && name.substr(slash) == "/data.pkl") {
        root_ = name.substr(0, slash + 1);
      }
    }
    if (root_.empty()) throw read_error(file_, "the zip archive has no data.pkl: not a torch file");
    const auto order = members_.find(root_ + "byteorder");
    if (order != members_.end() && order->second.size() == 3) {
      throw read_error(file_, "it was written on a big-endian machine");
    }
  }

  TensorMap read() {
    const Pickle pickle = Pickle::parse(members_.at(root_ + "data.pkl"), file_);
    const PickleValue& top = state_dict(pickle.root());
    if (is_tensor(top)) {
      tensors_.emplace("tensor", tensor("tensor", top));
    } else {
      collect("", top, 0);
    }
    if (tensors_.empty()) throw read_error(file_, "no tensors were found in the torch archive");
    return std::move(tensors_);
  }

 private:
  [[noreturn]] void fail(const std::string& name, std::string_view reason) const {
    throw read_error(file_, fmt::format("tensor {}: {}", printable(name), reason));
  }

  /// The value a parameter or subclass wraps; itself if it wraps nothing.
  static const PickleValue& unwrap(const PickleValue& value) {
    const PickleValue* inner = &value;
    for (int depth = 0; depth < kDeepest; ++depth) {
      const bool wraps = inner->kind == Kind::reduced && !inner->items.empty() &&
                         inner->text.starts_with("torch._utils _rebuild_parameter");
      if (!wraps) break;
      inner = inner->items[0];
    }
    return *inner;
  }

  static bool is_tensor(const PickleValue& value) {
    const PickleValue& inner = unwrap(value);
    return inner.kind == Kind::reduced && (inner.text.starts_with("torch._utils _rebuild_tensor") ||
                                           inner.text == "torch._tensor _rebuild_from_type_v2");
  }

  /// Directly, or in a state dict one step further in.
  static bool holds_tensors(const PickleValue& value) {
    if (value.kind != Kind::dict) return false;
    for (std::size_t i = 1; i < value.items.size(); i += 2) {
      if (is_tensor(*value.items[i])) return true;
    }
    const PickleValue* inner = value.find("state_dict");
    return inner != nullptr && inner->kind == Kind::dict;
  }

  static const PickleValue& state_dict(const PickleValue& root) {
    const PickleValue* at = &root;
    for (int depth = 0; depth < kDeepest; ++depth) {
      const PickleValue* inner = nullptr;
      for (const char* key : {"state_dict", "model_state_dict", "model"}) {
        const PickleValue* member = at->find(key);
        if (member == nullptr || !holds_tensors(*member)) continue;
        inner = member;
        break;
      }
      if (inner == nullptr) break;
      at = inner;
    }
    return *at;
  }

  void collect(const std::string& name, const PickleValue& value, int depth) {
    if (++visits_ > kMostVisits || depth > kDeepest) {
      throw read_error(file_, "its dictionaries are nested too deeply");
    }
    if (is_tensor(value)) {
      if (!tensors_.emplace(name, tensor(name, value)).second) fail(name, "it occurs twice");
      return;
    }
    if (name.size() > kLongestName) fail(name, "its name is too long");
    const std::string prefix = name.empty() ? "" : name + '.';
    if (value.kind == Kind::dict) {
      for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
        const PickleValue& key = *value.items[i];
        if (key.kind == Kind::string && key.text.size() <= kLongestName) {
          collect(prefix + key.text, *value.items[i + 1], depth + 1);
        } else if (key.kind == Kind::integer) {
          collect(prefix + std::to_string(key.integer), *value.items[i + 1], depth + 1);
        }
      }
    } else if (value.kind == Kind::list || value.kind == Kind::tuple) {
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        collect(prefix + std::to_string(i), *value.items[i], depth + 1);
      }
    }
  }

  std::vector<std::int64_t> sizes(const std::string& name, const PickleValue& value) const {
    // torch.Size((2, 3)) or the plain tuple
    const bool wrapped = value.kind == Kind::reduced && value.items.size() == 1;
    const PickleValue& tuple = wrapped ? *value.items[0] : value;
    if (tuple.kind != Kind::tuple) fail(name, "its shape or strides are no tuple");
    std::vector<std::int64_t> out;
    for (const PickleValue* item : tuple.items) {
      if (item->kind != Kind::integer || item->integer < 0) {
        fail(name, "its shape or strides are no sizes");
      }
      out.push_back(item->integer);
    }
    return out;
  }

  struct Storage {
    DType dtype;
    std::span<const std::uint8_t> bytes;
  };

  /// persistent id ('storage', torch.FloatStorage, '0', 'cpu', 35)
  Storage storage(const std::string& name, const PickleValue& value) const {
    if (value.kind != Kind::persistent_id || value.items[0]->kind != Kind::tuple) {
      fail(name, "its storage is missing");
    }
    const auto& id = value.items[0]->items;
    if (id.size() < 5 || id[1]->kind != Kind::global || id[2]->kind != Kind::string ||
        id[4]->kind != Kind::integer) {
      fail(name, "its storage is damaged");
    }
    const auto dtype = kStorages.find(id[1]->text);
    if (dtype == kStorages.end()) {
      fail(name, fmt::format("storage {} is not supported", printable(id[1]->text)));
    }
    const auto member = members_.find(root_ + "data/" + id[2]->text);
    if (member == members_.end()) {
      fail(name, fmt::format("storage {} is missing", printable(id[2]->text)));
    }
    const auto size = checked_product({id[4]->integer}, item_size(dtype->second));
    if (!size || *size != member->second.size()) {
      fail(name,
           fmt::format(
               "storage has {} bytes, not {} values", member->second.size(), id[4]->integer));
    }
    return {dtype->second, member->second};
  }

  Tensor tensor(const std::string& name, const PickleValue& value) {
    const PickleValue* inner = &unwrap(value);
    const auto* arguments = &inner->items;
    if (inner->text == "torch._tensor _rebuild_from_type_v2") {  // (function, type, args, state)
      const bool known = arguments->size() >= 3 && (*arguments)[0]->kind == Kind::global &&
                         (*arguments)[0]->text == "torch._utils _rebuild_tensor_v2" &&
                         (*arguments)[2]->kind == Kind::tuple;
      if (!known) fail(name, "its type is not supported");
      arguments = &(*arguments)[2]->items;
    }
    if (arguments->size() < 4 || (*arguments)[1]->kind != Kind::integer) {
      fail(name, "it is damaged");
    }
    const Storage source = storage(name, *(*arguments)[0]);
    return view(name,
                source,
                (*arguments)[1]->integer,
                sizes(name, *(*arguments)[2]),
                sizes(name, *(*arguments)[3]));
  }

  Tensor view(const std::string& name,
              const Storage& source,
              std::int64_t offset,
              std::vector<std::int64_t> shape,
              const std::vector<std::int64_t>& strides) {
    const std::size_t item = item_size(source.dtype);
    const auto size = checked_product(shape, item);
    if (!size || shape.size() != strides.size() || offset < 0) fail(name, "its shape is damaged");
    if (*size == 0) return {source.dtype, std::move(shape), {}, mapping_};

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
    if (contiguous) {
      const auto bytes = source.bytes.subspan(static_cast<std::size_t>(offset) * item, *size);
      return {source.dtype, std::move(shape), bytes, mapping_};
    }
    if (*size > copies_left_) fail(name, "its strides unfold it far beyond the size of the file");
    copies_left_ -= *size;
    return gather(source, static_cast<std::size_t>(offset), std::move(shape), strides);
  }

  static Tensor gather(const Storage& source,
                       std::size_t offset,
                       std::vector<std::int64_t> shape,
                       const std::vector<std::int64_t>& strides) {
    const std::size_t item = item_size(source.dtype);
    std::vector<std::uint8_t> out(*checked_product(shape, item));
    std::vector<std::int64_t> index(shape.size(), 0);
    std::size_t from = offset;
    for (std::size_t to = 0; to < out.size(); to += item) {
      std::memcpy(out.data() + to, source.bytes.data() + from * item, item);
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        from += static_cast<std::size_t>(strides[axis]);
        if (++index[axis] < shape[axis]) break;
        from -= static_cast<std::size_t>(strides[axis]) * static_cast<std::size_t>(shape[axis]);
        index[axis] = 0;
      }
    }
    return make_tensor(source.dtype, std::move(shape), std::move(out));
  }

  const fs::path& file_;
  std::shared_ptr<const MappedFile> mapping_;
  Members members_;
  std::uint64_t copies_left_;
  std::string root_;
  std::size_t visits_ = 0;
  TensorMap tensors_;
};

}  // namespace

TensorFile read_torch_archive(const fs::path& file,
                              const std::shared_ptr<const MappedFile>& mapping) {
  return {file, WeightFormat::torch, Archive(file, mapping).read(), {}};
}

}  // namespace ria
