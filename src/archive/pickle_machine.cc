// SPDX-License-Identifier: MIT
#include "archive/pickle_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

namespace ria {

namespace {

// Every opcode makes at most one value, so memory is linear in the pickle; this bounds the pickle.
constexpr std::size_t kLargestPickle = std::size_t{1} << 28;
constexpr std::size_t kMostMarks = 1000;

}  // namespace

Pickle PickleMachine::run() {
  bytes_ = bytes_.first(std::min(bytes_.size(), kLargestPickle));
  for (std::uint8_t opcode = take(1)[0]; opcode != '.'; opcode = take(1)[0]) {
    const Step step = kSteps[opcode];
    if (step == nullptr) fail(fmt::format("opcode 0x{:02x} is not supported", opcode));
    step(*this);
  }
  pickle_.root_ = pop();
  pickle_.size_ = position_;
  return std::move(pickle_);
}

void PickleMachine::fail(std::string_view reason) const {
  throw read_error(file_, fmt::format("pickle at byte {}: {}", position_, reason));
}

std::span<const std::uint8_t> PickleMachine::take(std::uint64_t size) {
  if (!inside(position_, size, bytes_.size())) {
    fail(bytes_.size() == kLargestPickle ? "it is larger than 256 MiB" : "it is cut short");
  }
  const auto out = bytes_.subspan(position_, size);
  position_ += size;
  return out;
}

std::string PickleMachine::line() {
  const auto rest = bytes_.subspan(position_);
  const auto end = std::find(rest.begin(), rest.end(), '\n');
  if (end == rest.end()) fail("a line has no end");
  std::string out(rest.begin(), end);
  position_ += out.size() + 1;
  return out;
}

void PickleMachine::check_protocol() {
  if (const auto protocol = number<std::uint8_t>(); protocol > 5) {
    fail(fmt::format("protocol {} was found, 0 to 5 are supported", protocol));
  }
}

PickleValue* PickleMachine::make(Kind kind) {
  PickleValue& value = pickle_.values_.emplace_back();
  value.kind = kind;
  return &value;
}

void PickleMachine::push_text(Kind kind, std::string content) {
  PickleValue* value = make(kind);
  value->text = std::move(content);
  push(value);
}

void PickleMachine::push_integer(std::int64_t integer, Kind kind) {
  PickleValue* value = make(kind);
  value->integer = integer;
  push(value);
}

/// Decimal digits; "01" and "00" are how protocol 0 writes True and False.
void PickleMachine::push_line_integer() {
  std::string digits = line();
  if (digits == "00" || digits == "01") return push_integer(digits == "01", Kind::boolean);
  if (digits.ends_with('L')) digits.pop_back();
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) fail("an integer is damaged or too large");
  push_integer(value);
}

void PickleMachine::push_line_real() {
  const std::string digits = line();
  PickleValue* value = make(Kind::real);
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value->number);
  if (parsed.ec != std::errc() || parsed.ptr != end) fail("a number is damaged");
  push(value);
}

/// Python 2's 'text' in quotes. Escapes stay as they are: nothing we look for has any.
void PickleMachine::push_quoted() {
  const std::string quoted = line();
  if (quoted.size() < 2 || quoted.front() != quoted.back()) fail("a string has no quotes");
  push_text(Kind::string, quoted.substr(1, quoted.size() - 2));
}

void PickleMachine::push_long_integer(std::uint64_t size) {
  const auto part = take(size);
  if (size > 8) {
    push_text(Kind::big_integer, {part.begin(), part.end()});
    return;
  }
  std::uint64_t value = size != 0 && (part[size - 1] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  if (size != 0) std::memcpy(&value, part.data(), size);
  push_integer(static_cast<std::int64_t>(value));
}

void PickleMachine::push_big_endian_real() {
  std::uint64_t bits = number<std::uint64_t>();
  bits = __builtin_bswap64(bits);
  PickleValue* value = make(Kind::real);
  value->number = std::bit_cast<double>(bits);
  push(value);
}

PickleValue* PickleMachine::top() const {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("the stack is empty");
  return stack_.back();
}

PickleValue* PickleMachine::pop() {
  PickleValue* value = top();
  stack_.pop_back();
  return value;
}

std::uint64_t PickleMachine::line_index() {
  const std::string digits = line();
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) fail("an index is damaged");
  return value;
}

void PickleMachine::mark() {
  if (marks_.size() >= kMostMarks) fail("it is nested too deeply");
  marks_.push_back(stack_.size());
}

std::vector<PickleValue*> PickleMachine::pop_mark() {
  if (marks_.empty()) fail("a mark is missing");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleValue*> out(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return out;
}

/// POP drops a mark if that is what lies on top.
void PickleMachine::pop_value_or_mark() {
  if (!marks_.empty() && stack_.size() == marks_.back()) {
    marks_.pop_back();
  } else {
    pop();
  }
}

void PickleMachine::tuple(std::size_t count) {
  PickleValue* value = make(Kind::tuple);
  value->items.resize(count);
  for (std::size_t i = count; i-- > 0;) value->items[i] = pop();
  push(value);
}

void PickleMachine::check_pairs(Kind kind, std::size_t count) const {
  if (kind == Kind::dict && count % 2 != 0) fail("a dict has a key without a value");
}

void PickleMachine::collect(Kind kind) {
  const std::vector<PickleValue*> items = pop_mark();
  PickleValue* value = make(kind);
  value->items.assign(items.begin(), items.end());
  check_pairs(kind, items.size());
  push(value);
}

void PickleMachine::extend(Kind kind, const std::vector<PickleValue*>& items) {
  PickleValue* target = top();
  check_pairs(kind, items.size());
  // Members of an object nobody knows are dropped.
  if (target->kind == Kind::opaque || target->kind == Kind::reduced) return;
  if (target->kind != kind) {
    fail(kind == Kind::dict ? "items are set in something that is no dict"
                            : "items are appended to something that is no list");
  }
  target->items.insert(target->items.end(), items.begin(), items.end());
}

void PickleMachine::set_item() {
  PickleValue* value = pop();
  PickleValue* key = pop();
  extend(Kind::dict, {key, value});
}

void PickleMachine::recall(std::uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) fail("it refers to a value that was not stored");
  push(found->second);
}

}  // namespace ria
