// SPDX-License-Identifier: MIT
// What every reader of a foreign file needs: the mapped bytes, checked sizes, one-line errors.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ria {

/// A whole file mapped read-only; tensors share it instead of copying their part.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file);
  /// Bytes that are no file of their own: an unpacked member of one.
  static std::shared_ptr<const MappedFile> from_memory(std::vector<std::uint8_t> bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  /// Lets the whole pages inside `part` leave the memory; they come back from the file when read
  /// again. Nothing happens for bytes that are not of this file or not of a file at all.
  void release(std::span<const std::uint8_t> part) const;

 private:
  MappedFile() = default;

  std::vector<std::uint8_t> memory_;  // from_memory() only
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// "cannot read FILE: REASON"
std::runtime_error read_error(const std::filesystem::path& file, std::string_view reason);

/// Text of a foreign file made fit for a one-line message: control characters escaped, cut short.
std::string printable(std::string_view text);

/// True if the bytes begin with the text.
bool starts_with(std::span<const std::uint8_t> bytes, std::string_view text);

/// The same bytes as text, which lives no longer than they do.
inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Nothing on overflow or a negative dimension.
std::optional<std::uint64_t> checked_product(const std::vector<std::int64_t>& shape,
                                             std::uint64_t item_size = 1);

/// True if [offset, offset + size) lies inside [0, limit), whatever the values.
inline bool inside(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

/// Little-endian value at an offset the caller has checked.
template <typename T>
T load(std::span<const std::uint8_t> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace ria
