// SPDX-License-Identifier: MIT
// NumPy arrays that hold no numbers: text (<U, |S) and Python objects (|O), as ground truth is
// published.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "archive/pickle.h"

namespace ria {

struct TextArray {
  std::vector<std::int64_t> shape;
  std::vector<std::string> values;  ///< row-major, UTF-8
};

/// Arrays of dtype <U or |S, and of objects that are all strings. Throws std::runtime_error naming
/// the file.
TextArray read_npy_text(const std::filesystem::path& file);
TextArray read_npy_text(const std::filesystem::path& file, std::span<const std::uint8_t> bytes);

/// An array of Python objects. Elements are counted row-major; each access checks that the element
/// is what is asked for and throws std::runtime_error naming file and element if it is not.
class ObjectArray {
 public:
  ObjectArray(std::filesystem::path file, Pickle pickle);

  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::size_t size() const { return items_->size(); }
  /// A Python or NumPy integer.
  std::int64_t integer(std::size_t element) const;
  /// The integers of a list, tuple, set or NumPy array, nested ones flattened; one for an integer.
  std::vector<std::int64_t> integers(std::size_t element) const;
  std::string text(std::size_t element) const;
  const PickleValue& value(std::size_t element) const { return *items_->at(element); }

 private:
  [[noreturn]] void fail(std::size_t element, std::string_view expected) const;

  std::filesystem::path file_;
  Pickle pickle_;
  std::vector<std::int64_t> shape_;
  const std::vector<const PickleValue*>* items_ = nullptr;  // in pickle_
};

/// Arrays of dtype |O. The pickle in it is read as data, see pickle.h.
ObjectArray read_npy_objects(const std::filesystem::path& file);
ObjectArray read_npy_objects(const std::filesystem::path& file,
                             std::span<const std::uint8_t> bytes);

}  // namespace ria
