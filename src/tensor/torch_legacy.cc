// SPDX-License-Identifier: MIT
#include "tensor/torch_legacy.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "archive/pickle.h"
#include "tensor/torch_state_dict.h"

namespace ria {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

namespace {

using Bytes = std::span<const std::uint8_t>;

// 0x1950a86a20f9469cfc6c
constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t kProtocol = 1001;

/// The pickles magic, protocol, system, object, keys; then, for each key, the number of items as
/// int64 and the items.
class Legacy : public TorchStorages {
 public:
  Legacy(const fs::path& file, Bytes bytes) : file_(file), rest_(bytes) {
    const Pickle magic = next();
    if (magic.root().kind != Kind::big_integer || magic.root().text != kMagic) {
      throw read_error(file_, "it is a pickle, but not one of torch.save");
    }
    const Pickle protocol = next();
    if (protocol.root().kind != Kind::integer || protocol.root().integer != kProtocol) {
      throw read_error(file_, "the protocol of the legacy torch file is unknown");
    }
    const Pickle system = next();
    const PickleValue* little = system.root().find("little_endian");
    if (little == nullptr || little->kind != Kind::boolean || little->integer != 1) {
      throw read_error(file_, "the legacy torch file was not written on a little-endian machine");
    }
    object_ = next();
    read_storages(next().root());
  }

  const PickleValue& root() const { return object_.root(); }

  std::optional<Bytes> find(const std::string& key) const override {
    const auto found = storages_.find(key);
    return found == storages_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  Pickle next() {
    Pickle pickle = Pickle::parse(rest_, file_);
    rest_ = rest_.subspan(pickle.size());
    return pickle;
  }

  std::runtime_error storage_error(const std::string& key, std::string_view reason) const {
    return read_error(file_, fmt::format("storage {}: {}", printable(key), reason));
  }

  /// The file gives a storage's length in items; how large those are only its users say.
  std::map<std::string, std::size_t> item_sizes() const {
    std::map<std::string, std::size_t> out;
    for (const PickleValue* id : object_.persistent_ids()) {
      std::string problem;
      const auto storage = parse_storage_id(*id, problem);
      if (!storage) continue;
      const std::size_t size = item_size(storage->dtype);
      const auto [known, added] = out.emplace(storage->key, size);
      if (!added && known->second != size) {
        throw storage_error(storage->key, "it is of two types");
      }
    }
    return out;
  }

  void read_storages(const PickleValue& keys) {
    if (keys.kind != Kind::list) throw read_error(file_, "the list of storages is damaged");
    const std::map<std::string, std::size_t> items = item_sizes();
    for (const PickleValue* key : keys.items) {
      if (key->kind != Kind::string) throw read_error(file_, "the list of storages is damaged");
      const auto item = items.find(key->text);
      if (item == items.end()) throw storage_error(key->text, "its type is not known");
      if (rest_.size() < 8) throw storage_error(key->text, "it is cut short");
      const auto size = checked_product({load<std::int64_t>(rest_, 0)}, item->second);
      if (!size || !inside(8, *size, rest_.size())) {
        throw storage_error(key->text, "it is cut short");
      }
      if (!storages_.emplace(key->text, rest_.subspan(8, *size)).second) {
        throw storage_error(key->text, "it occurs twice");
      }
      rest_ = rest_.subspan(8 + *size);
    }
  }

  const fs::path& file_;
  Bytes rest_;
  Pickle object_;
  std::map<std::string, Bytes> storages_;
};

}  // namespace

TensorFile read_torch_legacy(const fs::path& file,
                             const std::shared_ptr<const MappedFile>& mapping) {
  const Legacy legacy(file, mapping->bytes());
  return {file, WeightFormat::torch, read_state_dict(file, mapping, legacy.root(), legacy), {}};
}

}  // namespace ria
