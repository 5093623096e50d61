// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace ria {

/// Adds a code point; one that does not exist becomes U+FFFD.
inline void append_utf8(std::string& out, std::uint32_t code) {
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code > 0x10ffff || surrogate) code = 0xfffd;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace ria
