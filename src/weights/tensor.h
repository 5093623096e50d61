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
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive

  std::int64_t size() const;
  /// Exact for F32, F16, BF16 and small integers; F64 and I64 are rounded.
  std::vector<float> floats() const;
  std::vector<double> doubles() const;
};

/// A tensor that owns its bytes; throws std::invalid_argument if shape and bytes disagree.
Tensor make_tensor(DType dtype, std::vector<std::int64_t> shape, std::vector<std::uint8_t> bytes);
Tensor make_tensor(std::vector<std::int64_t> shape, const std::vector<float>& values);

using TensorMap = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

enum class WeightFormat { safetensors, torch, tfjs };

class TensorFile {
 public:
  /// Detects the format from the content; throws std::runtime_error naming the file.
  static TensorFile open(const std::filesystem::path& file);

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
