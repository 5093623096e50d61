// SPDX-License-Identifier: MIT
#include "weights/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <utility>

#include "weights/bytes.h"

namespace ria {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

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

const PickleValue* PickleValue::find(std::string_view key) const {
  if (kind != Kind::dict) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::string && items[i]->text == key) return items[i + 1];
  }
  return nullptr;
}

class PickleMachine {
 public:
  PickleMachine(std::span<const std::uint8_t> bytes, const fs::path& file)
      : bytes_(bytes), file_(file) {}

  Pickle run() {
    if (bytes_.size() > kLargestPickle) fail("it is larger than 256 MiB");
    while (step(take(1)[0])) {
    }
    pickle_.root_ = pop();
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    throw read_error(file_, fmt::format("pickle at byte {}: {}", position_, reason));
  }

  std::span<const std::uint8_t> take(std::uint64_t size) {
    if (!inside(position_, size, bytes_.size())) fail("it is cut short");
    const auto out = bytes_.subspan(position_, size);
    position_ += size;
    return out;
  }

  template <typename T>
  T number() {
    return load<T>(take(sizeof(T)), 0);
  }

  std::string text(std::uint64_t size) {
    const auto part = take(size);
    return {part.begin(), part.end()};
  }

  std::string line() {
    const auto rest = bytes_.subspan(position_);
    const auto end = std::find(rest.begin(), rest.end(), '\n');
    if (end == rest.end()) fail("a line has no end");
    std::string out(rest.begin(), end);
    position_ += out.size() + 1;
    return out;
  }

  PickleValue* make(Kind kind) {
    PickleValue& value = pickle_.values_.emplace_back();
    value.kind = kind;
    return &value;
  }

  void push(PickleValue* value) { stack_.push_back(value); }
  void push_text(Kind kind, std::string content) {
    PickleValue* value = make(kind);
    value->text = std::move(content);
    push(value);
  }
  void push_integer(std::int64_t integer, Kind kind = Kind::integer) {
    PickleValue* value = make(kind);
    value->integer = integer;
    push(value);
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  PickleValue* top() const {
    if (stack_.size() <= floor()) fail("the stack is empty");
    return stack_.back();
  }

  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }

  std::vector<PickleValue*> pop_mark() {
    if (marks_.empty()) fail("a mark is missing");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue*> out(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return out;
  }

  void mark() {
    if (marks_.size() >= kMostMarks) fail("it is nested too deeply");
    marks_.push_back(stack_.size());
  }

  void tuple(std::size_t count) {
    PickleValue* value = make(Kind::tuple);
    value->items.resize(count);
    for (std::size_t i = count; i-- > 0;) value->items[i] = pop();
    push(value);
  }

  void collect(Kind kind) {
    const std::vector<PickleValue*> items = pop_mark();
    PickleValue* value = make(kind);
    value->items.assign(items.begin(), items.end());
    if (kind == Kind::dict && items.size() % 2 != 0) fail("a dict has a key without a value");
    push(value);
  }

  void append(const std::vector<PickleValue*>& items) {
    PickleValue* target = top();
    // Members of an object nobody knows are dropped with it.
    if (target->kind == Kind::opaque || target->kind == Kind::reduced) return;
    if (target->kind != Kind::list) fail("items are appended to something that is no list");
    target->items.insert(target->items.end(), items.begin(), items.end());
  }

  void set_items(const std::vector<PickleValue*>& items) {
    PickleValue* target = top();
    if (items.size() % 2 != 0) fail("a dict has a key without a value");
    if (target->kind == Kind::opaque || target->kind == Kind::reduced) return;
    if (target->kind != Kind::dict) fail("items are set in something that is no dict");
    target->items.insert(target->items.end(), items.begin(), items.end());
  }

  void memoize(std::uint64_t index) { memo_[index] = top(); }

  void recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail("it refers to a value that was not stored");
    push(found->second);
  }

  void long_integer(std::uint64_t size) {
    const auto part = take(size);
    if (size > 8) {
      push_text(Kind::big_integer, {part.begin(), part.end()});
      return;
    }
    std::uint64_t value = size != 0 && (part[size - 1] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    if (size != 0) std::memcpy(&value, part.data(), size);
    push_integer(static_cast<std::int64_t>(value));
  }

  void big_endian_real() {
    std::uint64_t bits = number<std::uint64_t>();
    bits = __builtin_bswap64(bits);
    PickleValue* value = make(Kind::real);
    value->number = std::bit_cast<double>(bits);
    push(value);
  }

  void stack_global() {
    const PickleValue* name = pop();
    const PickleValue* module = pop();
    if (name->kind != Kind::string || module->kind != Kind::string) {
      fail("a global has no name");
    }
    push_text(Kind::global, module->text + ' ' + name->text);
  }

  /// What Python would call: understood for a few rebuilders, inert otherwise.
  void reduce(const PickleValue* callable, const PickleValue* arguments) {
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
  void fill_ordered(PickleValue& dict, const PickleValue& arguments) {
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
  void count_copies(std::size_t count) {
    copies_ += count;
    if (copies_ > bytes_.size()) fail("its parts are shared too often");
  }

  void opaque_from_mark() {
    pop_mark();
    push_text(Kind::opaque, "object");
  }

  bool step(std::uint8_t opcode);
  bool step_scalar(std::uint8_t opcode);
  bool step_text(std::uint8_t opcode);
  bool step_container(std::uint8_t opcode);
  bool step_memo(std::uint8_t opcode);
  bool step_object(std::uint8_t opcode);

  std::span<const std::uint8_t> bytes_;
  const fs::path& file_;
  std::uint64_t position_ = 0;
  std::size_t copies_ = 0;
  Pickle pickle_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

/// False at the end of the pickle.
bool PickleMachine::step(std::uint8_t opcode) {
  switch (opcode) {
    case '.':
      return false;
    case 0x80:  // PROTO
      if (const auto protocol = number<std::uint8_t>(); protocol > 4) {
        fail(fmt::format("protocol {} was found, 2 to 4 are supported", protocol));
      }
      return true;
    case 0x95:  // FRAME
      take(8);
      return true;
    default:
      break;
  }
  if (step_scalar(opcode) || step_text(opcode) || step_container(opcode) || step_memo(opcode) ||
      step_object(opcode)) {
    return true;
  }
  fail(fmt::format("opcode 0x{:02x} is not supported", opcode));
}

bool PickleMachine::step_scalar(std::uint8_t opcode) {
  switch (opcode) {
    case 'N':
      push(make(Kind::none));
      return true;
    case 0x88:  // NEWTRUE
      push_integer(1, Kind::boolean);
      return true;
    case 0x89:  // NEWFALSE
      push_integer(0, Kind::boolean);
      return true;
    case 'J':  // BININT
      push_integer(number<std::int32_t>());
      return true;
    case 'K':  // BININT1
      push_integer(number<std::uint8_t>());
      return true;
    case 'M':  // BININT2
      push_integer(number<std::uint16_t>());
      return true;
    case 0x8a:  // LONG1
      long_integer(number<std::uint8_t>());
      return true;
    case 0x8b:  // LONG4
      long_integer(number<std::uint32_t>());
      return true;
    case 'G':  // BINFLOAT
      big_endian_real();
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_text(std::uint8_t opcode) {
  switch (opcode) {
    case 'X':  // BINUNICODE
      push_text(Kind::string, text(number<std::uint32_t>()));
      return true;
    case 0x8c:  // SHORT_BINUNICODE
      push_text(Kind::string, text(number<std::uint8_t>()));
      return true;
    case 0x8d:  // BINUNICODE8
      push_text(Kind::string, text(number<std::uint64_t>()));
      return true;
    case 'T':  // BINSTRING: Python 2 text
      push_text(Kind::string, text(number<std::uint32_t>()));
      return true;
    case 'U':  // SHORT_BINSTRING
      push_text(Kind::string, text(number<std::uint8_t>()));
      return true;
    case 'B':  // BINBYTES
      push_text(Kind::bytes, text(number<std::uint32_t>()));
      return true;
    case 'C':  // SHORT_BINBYTES
      push_text(Kind::bytes, text(number<std::uint8_t>()));
      return true;
    case 0x8e:  // BINBYTES8
      push_text(Kind::bytes, text(number<std::uint64_t>()));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_container(std::uint8_t opcode) {
  switch (opcode) {
    case '(':
      mark();
      return true;
    case ')':
      tuple(0);
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      tuple(opcode - 0x84u);
      return true;
    case 't':
      collect(Kind::tuple);
      return true;
    case ']':
    case 0x8f:  // EMPTY_SET
      push(make(Kind::list));
      return true;
    case 'l':
    case 0x91:  // FROZENSET
      collect(Kind::list);
      return true;
    case '}':
      push(make(Kind::dict));
      return true;
    case 'd':
      collect(Kind::dict);
      return true;
    case 'a': {
      PickleValue* item = pop();
      append({item});
      return true;
    }
    case 'e':
    case 0x90:  // ADDITEMS
      append(pop_mark());
      return true;
    case 's': {
      PickleValue* value = pop();
      PickleValue* key = pop();
      set_items({key, value});
      return true;
    }
    case 'u':
      set_items(pop_mark());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_memo(std::uint8_t opcode) {
  switch (opcode) {
    case 'q':
      memoize(number<std::uint8_t>());
      return true;
    case 'r':
      memoize(number<std::uint32_t>());
      return true;
    case 0x94:  // MEMOIZE
      memoize(memo_.size());
      return true;
    case 'h':
      recall(number<std::uint8_t>());
      return true;
    case 'j':
      recall(number<std::uint32_t>());
      return true;
    case '0':
      // POP drops a mark if that is what lies on top.
      if (!marks_.empty() && stack_.size() == marks_.back()) {
        marks_.pop_back();
      } else {
        pop();
      }
      return true;
    case '1':
      pop_mark();
      return true;
    case '2':
      push(top());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_object(std::uint8_t opcode) {
  switch (opcode) {
    case 'c': {
      std::string module = line();
      push_text(Kind::global, module + ' ' + line());
      return true;
    }
    case 0x93:
      stack_global();
      return true;
    case 'Q': {
      const PickleValue* id = pop();
      PickleValue* value = make(Kind::persistent_id);
      value->items = {id};
      push(value);
      return true;
    }
    case 'R':
    case 0x81: {  // NEWOBJ
      const PickleValue* arguments = pop();
      const PickleValue* callable = pop();
      reduce(callable, arguments);
      return true;
    }
    case 0x92:  // NEWOBJ_EX
      pop();
      pop();
      pop();
      push_text(Kind::opaque, "object");
      return true;
    case 'b':  // BUILD: attributes such as _metadata, no tensors of a state dict
      pop();
      top();
      return true;
    case 'o':
      opaque_from_mark();
      return true;
    case 'i':
      line();
      line();
      opaque_from_mark();
      return true;
    case 0x82:  // EXT1, 2, 4: codes of a registry that is not here
      take(1);
      push_text(Kind::opaque, "extension");
      return true;
    case 0x83:
      take(2);
      push_text(Kind::opaque, "extension");
      return true;
    case 0x84:
      take(4);
      push_text(Kind::opaque, "extension");
      return true;
    default:
      return false;
  }
}

Pickle Pickle::parse(std::span<const std::uint8_t> bytes, const fs::path& file) {
  return PickleMachine(bytes, file).run();
}

}  // namespace ria
