// SPDX-License-Identifier: MIT
// sha256 in lower-case hexadecimal. (OpenSSL lives only in util/)
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ria {

/// The hash of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::uint8_t> bytes);
  void add_file(const std::filesystem::path& file);
  /// Of what was added so far; more may follow.
  std::string hex() const;

 private:
  std::unique_ptr<void, void (*)(void*)> context_;
};

std::string sha256_file(const std::filesystem::path& file);
std::string sha256_bytes(std::span<const std::uint8_t> bytes);
std::string sha256_text(std::string_view text);

}  // namespace ria
