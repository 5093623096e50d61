// SPDX-License-Identifier: MIT
#include "weights/pickle_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace ria {

namespace {

// Every opcode makes at most one value, so memory is linear in the pickle; this bounds the pickle.
constexpr std::size_t kLargestPickle = std::size_t{1} << 28;
constexpr std::size_t kMostMarks = 1000;

constexpr std::array<std::string_view, 6> kRebuilders{"torch._utils _rebuild_tensor_v2",
                                                      "torch._utils _rebuild_tensor",
                                                      "torch._utils _rebuild_parameter",
                                                      "torch._utils _rebuild_parameter_with_state",
                                                      "torch._tensor _rebuild_from_type_v2",
                                                      "torch Size"};

constexpr std::array<std::string_view, 2> kDictionaries{"collections OrderedDict",
                                                        "collections defaultdict"};

template <std::size_t N>
bool one_of(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

Pickle PickleMachine::run() {
  if (bytes_.size() > kLargestPickle) fail("it is larger than 256 MiB");
  for (std::uint8_t opcode = take(1)[0]; opcode != '.'; opcode = take(1)[0]) {
    const Step step = kSteps[opcode];
    if (step == nullptr) fail(fmt::format("opcode 0x{:02x} is not supported", opcode));
    step(*this);
  }
  pickle_.root_ = pop();
  return std::move(pickle_);
}

void PickleMachine::fail(std::string_view reason) const {
  throw read_error(file_, fmt::format("pickle at byte {}: {}", position_, reason));
}

std::span<const std::uint8_t> PickleMachine::take(std::uint64_t size) {
  if (!inside(position_, size, bytes_.size())) fail("it is cut short");
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
  if (const auto protocol = number<std::uint8_t>(); protocol > 4) {
    fail(fmt::format("protocol {} was found, 2 to 4 are supported", protocol));
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
  // Members of an object nobody knows are dropped with it.
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

void PickleMachine::line_global() {
  const std::string module = line();
  push_text(Kind::global, module + ' ' + line());
}

void PickleMachine::stack_global() {
  const PickleValue* name = pop();
  const PickleValue* module = pop();
  if (name->kind != Kind::string || module->kind != Kind::string) {
    fail("a global has no name");
  }
  push_text(Kind::global, module->text + ' ' + name->text);
}

void PickleMachine::persistent_id() {
  const PickleValue* id = pop();
  PickleValue* value = make(Kind::persistent_id);
  value->items = {id};
  push(value);
}

/// What Python would call: understood for a few rebuilders, inert otherwise.
void PickleMachine::reduce() {
  const PickleValue* arguments = pop();
  const PickleValue* callable = pop();
  const bool named = callable->kind == Kind::global && arguments->kind == Kind::tuple;
  if (named && one_of(kDictionaries, callable->text)) {
    PickleValue* dict = make(Kind::dict);
    fill_ordered(*dict, *arguments);
    push(dict);
    return;
  }
  const bool known = named && one_of(kRebuilders, callable->text);
  if (known) count_copies(arguments->items.size());
  PickleValue* value = make(known ? Kind::reduced : Kind::opaque);
  value->text = callable->kind == Kind::global ? callable->text : "object";
  if (known) value->items = arguments->items;
  push(value);
}

/// Python 2 wrote OrderedDict([[key, value], ...]).
void PickleMachine::fill_ordered(PickleValue& dict, const PickleValue& arguments) {
  if (arguments.items.size() != 1 || arguments.items[0]->kind != Kind::list) return;
  count_copies(2 * arguments.items[0]->items.size());
  for (const PickleValue* pair : arguments.items[0]->items) {
    const bool is_pair = pair->kind == Kind::list || pair->kind == Kind::tuple;
    if (!is_pair || pair->items.size() != 2) fail("an OrderedDict item is no pair");
    dict.items.insert(dict.items.end(), pair->items.begin(), pair->items.end());
  }
}

/// A shared tuple copied over and over would make memory quadratic; an honest pickle builds each
/// item with an opcode of its own.
void PickleMachine::count_copies(std::size_t count) {
  copies_ += count;
  if (copies_ > bytes_.size()) fail("its parts are shared too often");
}

void PickleMachine::push_extension(std::uint64_t code_size) {
  take(code_size);
  push_text(Kind::opaque, "extension");
}

}  // namespace ria
