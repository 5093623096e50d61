// SPDX-License-Identifier: MIT
// A pickle read as data. No callable it names is ever looked up or run; pickle_calls.h has the
// rule.
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
    reduced,        ///< a rebuilder: text its global, items its arguments, state what it was given
    opaque,         ///< anything else: items[0] what was called, if known; members are dropped
  };

  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<const PickleValue*> items;
  const PickleValue* state = nullptr;

  /// Value of a string key of a dict; nullptr if there is none.
  const PickleValue* find(std::string_view key) const;
};

/// The values live in one arena: freeing a deep or cyclic tree needs no recursion.
class Pickle {
 public:
  Pickle() = default;
  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;

  /// Reads one pickle from the start of `bytes`; more may follow it. `file` is only named in
  /// errors. Throws std::runtime_error if it is damaged or calls what is forbidden.
  static Pickle parse(std::span<const std::uint8_t> bytes, const std::filesystem::path& file);
  const PickleValue& root() const { return *root_; }
  /// Bytes the pickle took.
  std::uint64_t size() const { return size_; }
  /// All of them, in the order they were met.
  const std::vector<const PickleValue*>& persistent_ids() const { return persistent_ids_; }

 private:
  friend class PickleMachine;

  std::deque<PickleValue> values_;  // a deque: addresses stay
  const PickleValue* root_ = nullptr;
  std::uint64_t size_ = 0;
  std::vector<const PickleValue*> persistent_ids_;
};

}  // namespace ria
