// SPDX-License-Identifier: MIT
// Named tensors of a weight file, whatever its container.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ria {

class MappedFile;

enum class DType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL };

std::size_t item_size(DType dtype);
/// The safetensors name ("F32").
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

/// Row-major little-endian values. Copies share the bytes, which nobody changes.
struct Tensor {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const void> owner;   ///< keeps `bytes` alive
  const MappedFile* mapped = nullptr;  ///< the owner, where that is a mapped file

  std::int64_t size() const;
  /// Exact for F32, F16, BF16 and small integers; F64 and I64 are rounded.
  std::vector<float> floats() const;
  /// The same into `out`; throws std::invalid_argument if that has another size.
  void copy_floats(std::span<float> out) const;
  std::vector<double> doubles() const;
  /// Says that the values are not needed for now, for instance because they were packed elsewhere:
  /// the pages of a mapped file leave the memory. They can still be read again.
  void release() const;
};

/// A tensor whose bytes lie in a mapped file; nothing is copied.
Tensor mapped_tensor(DType dtype,
                     std::vector<std::int64_t> shape,
                     std::span<const std::uint8_t> bytes,
                     const std::shared_ptr<const MappedFile>& mapping);

/// A tensor that owns its bytes; throws std::invalid_argument if shape and bytes disagree.
Tensor make_tensor(DType dtype, std::vector<std::int64_t> shape, std::vector<std::uint8_t> bytes);
Tensor make_tensor(std::vector<std::int64_t> shape, const std::vector<float>& values);

/// Values in half precision; those beyond its range become infinite.
std::vector<std::uint16_t> to_halves(std::span<const float> values);
/// The inverse; `out` has the size of `halves`.
void from_halves(std::span<const std::uint16_t> halves, std::span<float> out);

using TensorMap = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

enum class WeightFormat { safetensors, torch, tfjs, npy, npz, matlab };

class TensorFile {
 public:
  /// Detects the format from the content; throws std::runtime_error naming the file. A folder
  /// stands for the model.safetensors.index.json or model.safetensors in it.
  static TensorFile open(const std::filesystem::path& file);
  /// The same for content that is mapped already; `file` is named in errors and is beside the
  /// shards of formats that have some.
  static TensorFile read(const std::filesystem::path& file,
                         const std::shared_ptr<const MappedFile>& mapping);

  TensorFile(std::filesystem::path path,
             WeightFormat format,
             TensorMap tensors,
             Metadata metadata = {});

  std::vector<std::string> names() const;
  bool contains(const std::string& name) const { return tensors_.count(name) != 0; }
  /// Throws std::runtime_error naming the file and the missing tensor.
  const Tensor& at(const std::string& name) const&;
  Tensor at(const std::string& name) && { return std::as_const(*this).at(name); }
  const TensorMap& tensors() const& { return tensors_; }
  /// By value, so that a loop over TensorFile::open(file).tensors() does not dangle.
  TensorMap tensors() && { return std::move(tensors_); }
  const Metadata& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return path_; }
  WeightFormat format() const { return format_; }

 private:
  std::filesystem::path path_;
  WeightFormat format_;
  TensorMap tensors_;
  Metadata metadata_;
};

}  // namespace ria
