// SPDX-License-Identifier: MIT
// A pickle read as data. No callable it names is ever looked up or run.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ria {

struct PickleValue {
  enum class Kind {
    none,
    boolean,        ///< integer is 0 or 1
    integer,        ///< fits 64 bits
    big_integer,    ///< text holds its little-endian two's complement
    real,           ///< number
    string,         ///< text, UTF-8
    bytes,          ///< text
    tuple,          ///< items
    list,           ///< items; sets too
    dict,           ///< items: key, value, key, value ...
    global,         ///< text is "module name"
    persistent_id,  ///< items[0]
    reduced,        ///< an allow-listed callable: text its global, items its arguments
    opaque,         ///< anything else: text the callable; state and members are dropped
  };

  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<const PickleValue*> items;

  /// Value of a string key of a dict; nullptr if there is none.
  const PickleValue* find(std::string_view key) const;
};

/// The values live in one arena: freeing a deep or cyclic tree needs no recursion.
class Pickle {
 public:
  /// `file` is only named in errors.
  static Pickle parse(std::span<const std::uint8_t> bytes, const std::filesystem::path& file);
  const PickleValue& root() const { return *root_; }

 private:
  friend class PickleMachine;

  std::deque<PickleValue> values_;  // a deque: addresses stay
  const PickleValue* root_ = nullptr;
};

}  // namespace ria
