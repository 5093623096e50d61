// SPDX-License-Identifier: MIT
// Files that are read whole or written whole.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "util/temporary.h"

namespace ria {

/// Bytes of a file; throws std::runtime_error naming it.
std::vector<std::uint8_t> read_bytes(const std::filesystem::path& file);
std::string read_text(const std::filesystem::path& file);

/// Whether a file is on the disk when commit() returns. What can be made again may leave that to
/// the system: a power loss then costs the file, at the worst leaving it shorter than it should be.
enum class Durability { kSynced, kUnsynced };

/// A file that appears under its name only when commit() has succeeded; until then it is a hidden
/// sibling that the destructor removes. Every failed write throws std::runtime_error naming the
/// file.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file, Durability durability = Durability::kSynced);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::uint8_t> bytes);
  void write(std::string_view text);
  template <typename T>
  void write_values(std::span<const T> values) {
    write({reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
  }
  /// Where the bytes are until commit(), for libraries that want a name to write to.
  const std::filesystem::path& temporary() const { return temporary_->path(); }
  void sync();
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path file_;
  Durability durability_;
  std::optional<Temporary> temporary_;
  std::FILE* handle_ = nullptr;
};

/// Throws the error that writing this file would give, before hours of work are spent on its
/// content.
void check_writable(const std::filesystem::path& file);

/// AtomicFile in one call.
void write_text(const std::filesystem::path& file, std::string_view text);

}  // namespace ria
