// SPDX-License-Identifier: MIT
// Tensors as torch pickles them: a view (offset, shape, strides) of a storage that lies elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "archive/bytes.h"
#include "archive/pickle.h"
#include "tensor/tensor.h"

namespace ria {

/// What a persistent id says of a storage: ('storage', torch.FloatStorage, '0', 'cpu', 35) and, in
/// old files, (view key, offset, size) or None behind it.
struct TorchStorageId {
  DType dtype;
  std::string key;
  std::int64_t count = 0;        ///< items of the whole storage
  std::int64_t view_offset = 0;  ///< the part of it that is meant, in items
  std::int64_t view_count = 0;
};

/// Nothing if the id is of something else; `problem` then says what is wrong with it.
std::optional<TorchStorageId> parse_storage_id(const PickleValue& id, std::string& problem);

/// Where the bytes of storages are; the only thing in which the forms of torch.save differ.
class TorchStorages {
 public:
  virtual ~TorchStorages() = default;
  /// The whole storage; nothing if it is missing.
  virtual std::optional<std::span<const std::uint8_t>> find(const std::string& key) const = 0;
};

/// True for a tensor, a parameter or a subclass of either.
bool is_torch_tensor(const PickleValue& value);

class TorchTensorReader {
 public:
  TorchTensorReader(const std::filesystem::path& file,
                    const std::shared_ptr<const MappedFile>& mapping,
                    const TorchStorages& storages);

  /// Shares the mapped file where the view is contiguous. Throws std::runtime_error naming the
  /// file and the tensor.
  Tensor read(const std::string& name, const PickleValue& value);

 private:
  struct Source {
    DType dtype;
    std::span<const std::uint8_t> bytes;
  };

  [[noreturn]] void fail(const std::string& name, std::string_view reason) const;
  std::vector<std::int64_t> sizes(const std::string& name, const PickleValue& value) const;
  Source source(const std::string& name, const PickleValue& value) const;
  Tensor view(const std::string& name,
              const Source& source,
              std::int64_t offset,
              std::vector<std::int64_t> shape,
              const std::vector<std::int64_t>& strides);

  const std::filesystem::path& file_;
  std::shared_ptr<const MappedFile> mapping_;
  const TorchStorages& storages_;
  std::uint64_t copies_left_;
};

}  // namespace ria
