// SPDX-License-Identifier: MIT
// A file that grows while it is fetched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "util/hash.h"

namespace ria {

/// The beginning of a file, in TARGET.partial. TARGET.partial.json beside it tells of which state
/// of which address; without that word the bytes are worth nothing. One process at a time holds it.
class PartialFile {
 public:
  /// Takes up what an earlier run left of this address, if it says of what. Throws
  /// std::runtime_error naming the file.
  PartialFile(std::filesystem::path target, std::string url);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  std::uint64_t size() const { return size_; }
  /// What the server called this state of the file; empty: nothing.
  const std::string& validator() const { return validator_; }
  std::string sha256() const { return sha_->hex(); }

  /// Empties it for another state of the file.
  void start_over(const std::string& validator);
  void append(std::span<const std::uint8_t> bytes);
  /// It is whole: it takes the target's name.
  void finish();
  /// It is worthless: nothing stays.
  void discard();

 private:
  void take_up();
  [[noreturn]] void fail() const;

  std::filesystem::path target_, file_, record_;
  std::string url_;
  std::string validator_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::optional<Sha256> sha_;
};

}  // namespace ria
