// SPDX-License-Identifier: MIT
// Parts of files as torch.save wrote them before it used zip archives, opcode by opcode.
#pragma once

#include <cstdint>
#include <string>

namespace ria::weights_test {

/// The pickles before the object: magic, protocol, system.
inline std::string legacy_start() {
  return std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.") +
         "\x80\x02M\xe9\x03." + std::string("\x80\x02}X\x0d\0\0\0little_endian\x88s.", 24);
}

inline std::string text(const std::string& value) {
  return 'X' + std::string{static_cast<char>(value.size()), 0, 0, 0} + value;
}

inline std::string count(std::int64_t items) {
  return {reinterpret_cast<const char*>(&items), sizeof(items)};
}

/// Three floats of the storage "k", the part from `offset` on of which is `view`.
inline std::string legacy_tensor(const std::string& type, const std::string& view) {
  return "\x80\x02"
         "ctorch._utils\n_rebuild_tensor_v2\n((" +
         text("storage") + "c" + type + "\n" + text("k") + text("cuda:0") + "K\x03" + view + "tQK" +
         std::string(1, '\0') + "K\x02\x85K\x01\x85\x89}tR.";
}

}  // namespace ria::weights_test
