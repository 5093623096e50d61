// SPDX-License-Identifier: MIT
// The opcodes that make objects.
#include <fmt/format.h>

#include <utility>

#include "archive/pickle_calls.h"
#include "archive/pickle_machine.h"

namespace ria {

void PickleMachine::push_global(const std::string& module, const std::string& name) {
  constexpr std::size_t kLongest = 1000;
  if (module.size() > kLongest || name.size() > kLongest) fail("the name of a global is too long");
  push_text(Kind::global, module + ' ' + name);
}

void PickleMachine::line_global() {
  const std::string module = line();
  push_global(module, line());
}

void PickleMachine::stack_global() {
  const PickleValue* name = pop();
  const PickleValue* module = pop();
  if (name->kind != Kind::string || module->kind != Kind::string) fail("a global has no name");
  push_global(module->text, name->text);
}

void PickleMachine::persistent_id() {
  const PickleValue* id = pop();
  PickleValue* value = make(Kind::persistent_id);
  value->items = {id};
  pickle_.persistent_ids_.push_back(value);
  push(value);
}

/// What Python would call: understood for a few rebuilders, inert otherwise.
void PickleMachine::call(const PickleValue* callable, const PickleValue* arguments) {
  const bool global = callable->kind == Kind::global;
  PickleCall meaning = global ? classify_call(callable->text) : PickleCall::foreign;
  if (meaning == PickleCall::forbidden) {
    throw read_error(file_,
                     fmt::format("its pickle calls {}; nothing in a pickle is ever run",
                                 callable_name(callable->text)));
  }
  if (arguments == nullptr || arguments->kind != Kind::tuple) meaning = PickleCall::foreign;
  if (meaning == PickleCall::dictionary) return push_dictionary(*arguments);
  if (meaning == PickleCall::encoder && push_encoded(*arguments)) return;
  const bool kept = meaning == PickleCall::rebuilder;
  PickleValue* value = make(kept ? Kind::reduced : Kind::opaque);
  if (kept) {
    count_copies(arguments->items.size());
    value->text = callable->text;
    value->items = arguments->items;
  } else {
    value->items = {callable};
  }
  push(value);
}

void PickleMachine::reduce() {
  const PickleValue* arguments = pop();
  call(pop(), arguments);
}

/// The class and its arguments since the mark.
void PickleMachine::object() {
  const std::vector<PickleValue*> parts = pop_mark();
  if (parts.empty()) fail("an object has no class");
  call(parts[0], nullptr);
}

void PickleMachine::instance() {
  line_global();
  const PickleValue* callable = pop();
  pop_mark();
  call(callable, nullptr);
}

void PickleMachine::object_with_keywords() {
  pop();
  const PickleValue* arguments = pop();
  call(pop(), arguments);
}

/// Attributes: the values of a NumPy array, a state dict's _metadata, which is not needed.
void PickleMachine::build() {
  const PickleValue* state = pop();
  PickleValue* target = top();
  if (target->kind == Kind::reduced) target->state = state;
}

void PickleMachine::push_dictionary(const PickleValue& arguments) {
  PickleValue* dict = make(Kind::dict);
  fill_ordered(*dict, arguments);
  push(dict);
}

/// ("text", "latin1"): protocol 2 has no bytes and writes each as a character of a string.
bool PickleMachine::push_encoded(const PickleValue& arguments) {
  const auto& items = arguments.items;
  const bool latin = items.size() == 2 && items[0]->kind == Kind::string &&
                     items[1]->kind == Kind::string && items[1]->text == "latin1";
  if (!latin) return false;
  const std::string& text = items[0]->text;
  count_copies(text.size());
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte < 0x80) {
      out += text[i];
      continue;
    }
    // U+0080 to U+00FF are two bytes, the first 0xc2 or 0xc3.
    const bool pair = (byte & 0xfe) == 0xc2 && i + 1 < text.size() &&
                      (static_cast<std::uint8_t>(text[i + 1]) & 0xc0) == 0x80;
    if (!pair) fail("bytes are damaged");
    out += static_cast<char>(((byte & 3) << 6) | (static_cast<std::uint8_t>(text[++i]) & 0x3f));
  }
  push_text(Kind::bytes, std::move(out));
  return true;
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
  constexpr std::size_t kAllowance = std::size_t{1} << 20;
  copies_ += count;
  if (copies_ > position_ + kAllowance) fail("its parts are shared too often");
}

void PickleMachine::push_extension(std::uint64_t code_size) {
  take(code_size);
  push(make(Kind::opaque));
}

}  // namespace ria
