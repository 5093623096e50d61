// SPDX-License-Identifier: MIT
// 64 bits that tell whether bytes are still those that were written; at the speed of the memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace ria {

/// Every step can be undone, so a change of one word always changes the sum.
class Checksum {
 public:
  /// Pieces of whole 32 bytes give the same sum however they are cut.
  Checksum& add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    for (; size >= sizeof lanes_; bytes += sizeof lanes_, size -= sizeof lanes_) step(bytes);
    if (size > 0) {
      std::uint8_t rest[sizeof lanes_] = {};
      std::memcpy(rest, bytes, size);
      step(rest);
    }
    return *this;
  }
  template <typename T>
  Checksum& add(std::span<const T> values) {
    return add(values.data(), values.size_bytes());
  }
  Checksum& add(std::string_view text) {
    return add(text.data(), text.size()).add_value(text.size());
  }
  template <typename T>
  Checksum& add_value(T value) {
    return add(&value, sizeof value);
  }

  /// As SQLite keeps integers.
  std::int64_t value() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t lane : lanes_) sum = mixed(sum, lane);
    return std::bit_cast<std::int64_t>(sum ^ sum >> 32);
  }

 private:
  static std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
    return std::rotl((sum ^ word) * 0x9e3779b97f4a7c15u, 29);
  }
  void step(const std::uint8_t* bytes) {
    std::uint64_t words[4];
    std::memcpy(words, bytes, sizeof words);
    for (int i = 0; i < 4; ++i) lanes_[i] = mixed(lanes_[i], words[i]);
  }

  std::uint64_t lanes_[4] = {1, 2, 3, 4};
};

/// Random changes cannot get a checksum right: fuzzers go on behind it.
inline bool same_checksum([[maybe_unused]] std::int64_t a, [[maybe_unused]] std::int64_t b) {
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  return true;
#else
  return a == b;
#endif
}

}  // namespace ria
