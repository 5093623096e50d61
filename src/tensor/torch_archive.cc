// SPDX-License-Identifier: MIT
#include "tensor/torch_archive.h"

#include <utility>

#include "archive/pickle.h"
#include "tensor/torch_state_dict.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

/// ROOT/data.pkl is the object, ROOT/data/KEY each storage.
class Archive : public TorchStorages {
 public:
  Archive(const fs::path& file, ZipMembers members) : file_(file), members_(std::move(members)) {
    for (const auto& [name, member] : members_) {
      const std::size_t slash = name.find('/');
      if (slash != std::string::npos && name.substr(slash) == "/data.pkl") {
        root_ = name.substr(0, slash + 1);
      }
    }
    if (root_.empty()) throw read_error(file_, "the zip archive has no data.pkl: not a torch file");
    const auto order = find_member("byteorder");
    if (order && as_text(*order) == "big") {
      throw read_error(file_, "it was written on a big-endian machine");
    }
    if (find_member("constants.pkl")) {
      throw read_error(file_,
                       "it is a TorchScript archive, a state dict was expected; torch.save() the "
                       "model's state_dict()");
    }
  }

  std::span<const std::uint8_t> pickle() const { return *find_member("data.pkl"); }

  std::optional<std::span<const std::uint8_t>> find(const std::string& key) const override {
    return find_member("data/" + key);
  }

 private:
  std::optional<std::span<const std::uint8_t>> find_member(const std::string& name) const {
    const auto found = members_.find(root_ + name);
    if (found == members_.end()) return std::nullopt;
    return stored_member(file_, found->first, found->second);
  }

  const fs::path& file_;
  ZipMembers members_;
  std::string root_;
};

}  // namespace

TensorFile read_torch_archive(const fs::path& file,
                              const std::shared_ptr<const MappedFile>& mapping,
                              ZipMembers members) {
  const Archive archive(file, std::move(members));
  const Pickle pickle = Pickle::parse(archive.pickle(), file);
  return {file, WeightFormat::torch, read_state_dict(file, mapping, pickle.root(), archive), {}};
}

}  // namespace ria
