// SPDX-License-Identifier: MIT
// The elements of a .mat file of version 5, to build files by hand.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace ria::mat_elements {

inline constexpr std::uint32_t kCell = 1, kStruct = 2, kChar = 4, kDouble = 6, kSingle = 7,
                               kInt8 = 8, kUint16 = 11, kInt64 = 14, kUint64 = 15, kLogical = 0x200,
                               kComplex = 0x800;

template <typename T>
inline std::string le(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

template <typename T>
inline std::string values(std::initializer_list<T> items) {
  std::string out;
  for (const T item : items) out += le(item);
  return out;
}

inline std::string element(std::uint32_t type, const std::string& data) {
  std::string out = le(type) + le(static_cast<std::uint32_t>(data.size())) + data;
  out.resize((out.size() + 7) / 8 * 8, '\0');
  return out;
}

inline std::string small(std::uint16_t type, const std::string& data) {
  std::string out = le(type) + le(static_cast<std::uint16_t>(data.size())) + data;
  out.resize(8, '\0');
  return out;
}

/// Flags hold the class and, above it, the bits of complex, global, logical.
inline std::string matrix(std::uint32_t flags,
                          const std::vector<std::int32_t>& dims,
                          const std::string& name,
                          const std::string& content) {
  std::string sides;
  for (const std::int32_t side : dims) sides += le(side);
  return element(14,
                 element(6, le(flags) + le(std::uint32_t{0})) + element(5, sides) +
                     element(1, name) + content);
}

inline std::string header(std::uint16_t version = 0x100, const std::string& order = "IM") {
  std::string out = "MATLAB 5.0 MAT-file";
  out.resize(124, ' ');
  return out + le(version) + order;
}

}  // namespace ria::mat_elements
