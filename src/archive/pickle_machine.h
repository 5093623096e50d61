// SPDX-License-Identifier: MIT
// The stack machine whose program a pickle is.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/bytes.h"
#include "archive/pickle.h"

namespace ria {

class PickleMachine {
 public:
  PickleMachine(std::span<const std::uint8_t> bytes, const std::filesystem::path& file)
      : bytes_(bytes), file_(file) {}

  Pickle run();

 private:
  using Kind = PickleValue::Kind;
  using Step = void (*)(PickleMachine&);
  /// By opcode; nullptr where there is none. The end of a pickle, '.', is run()'s.
  using Steps = std::array<Step, 256>;

  static const Steps kSteps;

  [[noreturn]] void fail(std::string_view reason) const;

  // The program's bytes.
  std::span<const std::uint8_t> take(std::uint64_t size);
  template <typename T>
  T number() {
    return load<T>(take(sizeof(T)), 0);
  }
  /// Bytes after their count.
  template <typename Count>
  std::string text() {
    const auto part = take(number<Count>());
    return {part.begin(), part.end()};
  }
  std::string line();
  void check_protocol();

  // The stack.
  PickleValue* make(Kind kind);
  void push(PickleValue* value) { stack_.push_back(value); }
  void push_text(Kind kind, std::string content);
  void push_integer(std::int64_t integer, Kind kind = Kind::integer);
  void push_line_integer();
  void push_line_real();
  void push_quoted();
  void push_long_integer(std::uint64_t size);
  void push_big_endian_real();
  PickleValue* top() const;
  PickleValue* pop();
  void mark();
  std::vector<PickleValue*> pop_mark();
  void pop_value_or_mark();

  // Containers.
  void tuple(std::size_t count);
  void collect(Kind kind);
  /// Adds to the list or dict on top.
  void extend(Kind kind, const std::vector<PickleValue*>& items);
  void set_item();
  void check_pairs(Kind kind, std::size_t count) const;

  // The memo.
  std::uint64_t line_index();
  void memoize(std::uint64_t index) { memo_[index] = top(); }
  void recall(std::uint64_t index);

  // Objects.
  void push_global(const std::string& module, const std::string& name);
  void line_global();
  void stack_global();
  void persistent_id();
  /// `arguments` may be null where they do not matter.
  void call(const PickleValue* callable, const PickleValue* arguments);
  void reduce();
  void object();
  void instance();
  void object_with_keywords();
  void build();
  void push_dictionary(const PickleValue& arguments);
  bool push_encoded(const PickleValue& arguments);
  void fill_ordered(PickleValue& dict, const PickleValue& arguments);
  void count_copies(std::size_t count);
  void push_extension(std::uint64_t code_size);

  std::span<const std::uint8_t> bytes_;
  const std::filesystem::path& file_;
  std::uint64_t position_ = 0;
  std::size_t copies_ = 0;
  Pickle pickle_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

}  // namespace ria
