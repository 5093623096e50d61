// SPDX-License-Identifier: MIT
// MATLAB's .mat files of version 5 (save -v6 and -v7): variables as a tree of values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "archive/bytes.h"
#include "tensor/tensor.h"

namespace ria {

/// Number types as they are stored. An array of doubles may be stored in a smaller one.
enum class MatType { i8, u8, i16, u16, i32, u32, f32, f64, i64, u64, utf8, utf16, utf32 };

/// Elements are in column-major order throughout: the first dimension runs fastest.
struct MatValue {
  enum class Kind {
    number,     ///< any numeric class
    logical,    ///< numbers that are 0 or 1
    text,       ///< a char array
    cell,       ///< cells
    structure,  ///< a struct or an array of them
    opaque,     ///< objects, function handles, sparse arrays: skipped
  };

  Kind kind = Kind::opaque;
  std::vector<std::int64_t> dims;  ///< two or more
  DType dtype = DType::F64;        ///< number: its class; uint16 is I32, uint32 and uint64 are I64
  bool complex = false;            ///< number: its imaginary part is not read
  MatType stored = MatType::f64;   ///< number, logical, text: the type of `bytes`
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const MappedFile> owner;  ///< of `bytes`
  std::vector<MatValue> cells;
  std::vector<std::string> field_names;
  std::vector<MatValue> fields;  ///< all fields of the first element, then of the second ...

  /// The product of dims.
  std::size_t size() const;
  /// A field of an element of a structure; nullptr if there is none.
  const MatValue* find(std::string_view field, std::size_t element = 0) const;
  /// A number or logical's values, converted from the stored type, still column-major. Throws
  /// std::invalid_argument for any other kind and for complex numbers.
  std::vector<float> floats() const;
  std::vector<double> doubles() const;
  /// The same row-major with dims as shape.
  Tensor tensor() const;
  /// The rows of a char array as UTF-8, trailing spaces kept. Throws std::invalid_argument for any
  /// other kind.
  std::vector<std::string> rows() const;
};

bool looks_like_mat(std::span<const std::uint8_t> bytes);

/// The variables by name. Throws std::runtime_error naming the file; big-endian files and version
/// 7.3, which is HDF5, are refused.
std::map<std::string, MatValue> read_mat(const std::filesystem::path& file,
                                         const std::shared_ptr<const MappedFile>& mapping);
std::map<std::string, MatValue> read_mat(const std::filesystem::path& file);

/// The numeric and logical arrays that are not empty, row-major, under dotted names: fields by
/// name, cells and elements of struct arrays by their place from 0 (net.layers.30.weights.0).
TensorFile read_mat_tensors(const std::filesystem::path& file,
                            const std::shared_ptr<const MappedFile>& mapping);

}  // namespace ria
