// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace ria {

/// Bytes of which nothing is known: what lies beyond their end is not there.
struct ByteReader {
  std::span<const std::uint8_t> bytes;
  bool little = true;  ///< the least significant byte comes first

  bool holds(std::size_t at, std::size_t size) const {
    return size <= bytes.size() && at <= bytes.size() - size;
  }

  /// An unsigned number of `size` bytes, at most 4.
  std::optional<std::uint32_t> number(std::size_t at, int size) const {
    if (!holds(at, size)) return std::nullopt;
    std::uint32_t value = 0;
    for (int i = 0; i < size; ++i) value = value << 8 | bytes[at + (little ? size - 1 - i : i)];
    return value;
  }

  bool has(std::size_t at, std::string_view text) const {
    return holds(at, text.size()) && std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
  }
};

}  // namespace ria
