// SPDX-License-Identifier: MIT
#include "tensor/torch_state_dict.h"

#include <fmt/format.h>

#include <utility>

#include "archive/pickle_calls.h"
#include "tensor/pickled_array.h"

namespace ria {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

namespace {

// A pickle may share its parts, so a small one can unfold into an endless tree.
constexpr int kDeepest = 64;
constexpr std::size_t kMostVisits = 1'000'000;
constexpr std::size_t kLongestName = 2000;
constexpr std::size_t kMostNameBytes = std::size_t{64} << 20;

/// Directly, or in a state dict one step further in.
bool holds_tensors(const PickleValue& value) {
  if (value.kind != Kind::dict) return false;
  for (std::size_t i = 1; i < value.items.size(); i += 2) {
    if (is_torch_tensor(*value.items[i])) return true;
  }
  const PickleValue* inner = value.find("state_dict");
  return inner != nullptr && inner->kind == Kind::dict;
}

const PickleValue& select_state_dict(const PickleValue& root) {
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

class Collector {
 public:
  Collector(const fs::path& file, TorchTensorReader reader, std::size_t file_size)
      : file_(file), reader_(std::move(reader)), copies_left_(file_size) {}

  void collect(const std::string& name, const PickleValue& value, int depth = 0) {
    if (++visits_ > kMostVisits || depth > kDeepest) {
      throw read_error(file_, "its dictionaries are nested too deeply");
    }
    if (is_torch_tensor(value)) return add(name, value);
    if (name.size() > kLongestName) throw name_error(name, "its name is too long");
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

  /// The arrays of fitted objects of scikit-learn, a dict of them by name: NAME.mean_ ...
  void collect_fitted(const std::string& prefix, const PickleValue& objects) {
    for (std::size_t i = 0; objects.kind == Kind::dict && i + 1 < objects.items.size(); i += 2) {
      const PickleValue &key = *objects.items[i], &object = *objects.items[i + 1];
      const bool fitted = key.kind == Kind::string && object.kind == Kind::reduced &&
                          object.text.starts_with("sklearn.") && object.state != nullptr &&
                          object.state->kind == Kind::dict;
      if (fitted) collect_arrays(prefix + "." + key.text, *object.state);
    }
  }

  TensorMap take() { return std::move(tensors_); }

 private:
  void collect_arrays(const std::string& name, const PickleValue& fields) {
    for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2) {
      const PickleValue& field = *fields.items[i];
      if (++visits_ > kMostVisits) throw read_error(file_, "it has too many fields");
      if (field.kind != Kind::string || name.size() + field.text.size() > kLongestName) continue;
      auto tensor = pickled_tensor(*fields.items[i + 1]);
      if (!tensor) continue;
      // An honest file holds every array once.
      if (tensor->bytes.size() > copies_left_) throw read_error(file_, "its arrays are shared");
      copies_left_ -= tensor->bytes.size();
      tensors_.emplace(name + "." + field.text, std::move(*tensor));
    }
  }

  std::runtime_error name_error(const std::string& name, std::string_view reason) const {
    return read_error(file_, fmt::format("tensor {}: {}", printable(name), reason));
  }

  void add(const std::string& name, const PickleValue& value) {
    name_bytes_ += name.size();
    if (name_bytes_ > kMostNameBytes) throw read_error(file_, "its names are too long");
    const std::string& key = name.empty() ? kBareTensor : name;
    if (!tensors_.emplace(key, reader_.read(key, value)).second) {
      throw name_error(key, "it occurs twice");
    }
  }

  inline static const std::string kBareTensor = "tensor";

  const fs::path& file_;
  TorchTensorReader reader_;
  std::size_t copies_left_;  // bytes of arrays, which are copied
  std::size_t visits_ = 0;
  std::size_t name_bytes_ = 0;
  TensorMap tensors_;
};

}  // namespace

TensorMap read_state_dict(const fs::path& file,
                          const std::shared_ptr<const MappedFile>& mapping,
                          const PickleValue& root,
                          const TorchStorages& storages) {
  if (root.kind == Kind::opaque) {
    const bool named = !root.items.empty() && root.items[0]->kind == Kind::global;
    throw read_error(file,
                     fmt::format("it holds an object of {}, a state dict or a tensor was expected; "
                                 "torch.save() the model's state_dict()",
                                 named ? callable_name(root.items[0]->text) : "an unknown class"));
  }
  Collector collector(file, TorchTensorReader(file, mapping, storages), mapping->bytes().size());
  collector.collect("", select_state_dict(root));
  if (const PickleValue* pca = root.find("pca")) collector.collect_fitted("pca", *pca);
  TensorMap tensors = collector.take();
  if (tensors.empty()) throw read_error(file, "no tensors were found in the torch file");
  return tensors;
}

}  // namespace ria
