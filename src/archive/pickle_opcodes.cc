// SPDX-License-Identifier: MIT
#include "archive/pickle_machine.h"

namespace ria {

constinit const PickleMachine::Steps PickleMachine::kSteps = [] {
  using Machine = PickleMachine;
  Steps steps{};
  steps[0x80] = [](Machine& m) { m.check_protocol(); };  // PROTO
  steps[0x95] = [](Machine& m) { m.take(8); };           // FRAME

  steps['N'] = [](Machine& m) { m.push(m.make(Kind::none)); };
  steps[0x88] = [](Machine& m) { m.push_integer(1, Kind::boolean); };                // NEWTRUE
  steps[0x89] = [](Machine& m) { m.push_integer(0, Kind::boolean); };                // NEWFALSE
  steps['J'] = [](Machine& m) { m.push_integer(m.number<std::int32_t>()); };         // BININT
  steps['K'] = [](Machine& m) { m.push_integer(m.number<std::uint8_t>()); };         // BININT1
  steps['M'] = [](Machine& m) { m.push_integer(m.number<std::uint16_t>()); };        // BININT2
  steps[0x8a] = [](Machine& m) { m.push_long_integer(m.number<std::uint8_t>()); };   // LONG1
  steps[0x8b] = [](Machine& m) { m.push_long_integer(m.number<std::uint32_t>()); };  // LONG4
  steps['G'] = [](Machine& m) { m.push_big_endian_real(); };                         // BINFLOAT

  // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8; Python 2's SHORT_BINSTRING, BINSTRING
  steps[0x8c] = [](Machine& m) { m.push_text(Kind::string, m.text<std::uint8_t>()); };
  steps['X'] = [](Machine& m) { m.push_text(Kind::string, m.text<std::uint32_t>()); };
  steps[0x8d] = [](Machine& m) { m.push_text(Kind::string, m.text<std::uint64_t>()); };
  steps['U'] = steps[0x8c];
  steps['T'] = steps['X'];
  // SHORT_BINBYTES, BINBYTES, BINBYTES8
  steps['C'] = [](Machine& m) { m.push_text(Kind::bytes, m.text<std::uint8_t>()); };
  steps['B'] = [](Machine& m) { m.push_text(Kind::bytes, m.text<std::uint32_t>()); };
  steps[0x8e] = [](Machine& m) { m.push_text(Kind::bytes, m.text<std::uint64_t>()); };

  steps[0x96] = steps[0x8e];  // BYTEARRAY8

  // Protocol 0: INT, LONG, FLOAT, STRING, UNICODE
  steps['I'] = [](Machine& m) { m.push_line_integer(); };
  steps['L'] = steps['I'];
  steps['F'] = [](Machine& m) { m.push_line_real(); };
  steps['S'] = [](Machine& m) { m.push_quoted(); };
  steps['V'] = [](Machine& m) { m.push_text(Kind::string, m.line()); };

  steps['('] = [](Machine& m) { m.mark(); };
  steps[')'] = [](Machine& m) { m.tuple(0); };
  steps[0x85] = [](Machine& m) { m.tuple(1); };
  steps[0x86] = [](Machine& m) { m.tuple(2); };
  steps[0x87] = [](Machine& m) { m.tuple(3); };
  steps['t'] = [](Machine& m) { m.collect(Kind::tuple); };
  steps[']'] = [](Machine& m) { m.push(m.make(Kind::list)); };
  steps['l'] = [](Machine& m) { m.collect(Kind::list); };
  steps['}'] = [](Machine& m) { m.push(m.make(Kind::dict)); };
  steps['d'] = [](Machine& m) { m.collect(Kind::dict); };
  steps['a'] = [](Machine& m) { m.extend(Kind::list, {m.pop()}); };
  steps['e'] = [](Machine& m) { m.extend(Kind::list, m.pop_mark()); };
  steps['s'] = [](Machine& m) { m.set_item(); };
  steps['u'] = [](Machine& m) { m.extend(Kind::dict, m.pop_mark()); };
  steps[0x8f] = steps[']'];  // EMPTY_SET
  steps[0x90] = steps['e'];  // ADDITEMS
  steps[0x91] = steps['l'];  // FROZENSET

  steps['q'] = [](Machine& m) { m.memoize(m.number<std::uint8_t>()); };
  steps['r'] = [](Machine& m) { m.memoize(m.number<std::uint32_t>()); };
  steps[0x94] = [](Machine& m) { m.memoize(m.memo_.size()); };  // MEMOIZE
  steps['h'] = [](Machine& m) { m.recall(m.number<std::uint8_t>()); };
  steps['j'] = [](Machine& m) { m.recall(m.number<std::uint32_t>()); };
  steps['p'] = [](Machine& m) { m.memoize(m.line_index()); };
  steps['g'] = [](Machine& m) { m.recall(m.line_index()); };
  steps['0'] = [](Machine& m) { m.pop_value_or_mark(); };
  steps['1'] = [](Machine& m) { m.pop_mark(); };
  steps['2'] = [](Machine& m) { m.push(m.top()); };

  steps['c'] = [](Machine& m) { m.line_global(); };
  steps[0x93] = [](Machine& m) { m.stack_global(); };
  steps['Q'] = [](Machine& m) { m.persistent_id(); };
  steps['R'] = [](Machine& m) { m.reduce(); };
  steps[0x81] = steps['R'];                                    // NEWOBJ
  steps[0x92] = [](Machine& m) { m.object_with_keywords(); };  // NEWOBJ_EX
  steps['b'] = [](Machine& m) { m.build(); };
  steps['o'] = [](Machine& m) { m.object(); };
  steps['i'] = [](Machine& m) { m.instance(); };
  // EXT1, 2, 4: codes of a registry that is not here
  steps[0x82] = [](Machine& m) { m.push_extension(1); };
  steps[0x83] = [](Machine& m) { m.push_extension(2); };
  steps[0x84] = [](Machine& m) { m.push_extension(4); };
  return steps;
}();

}  // namespace ria
