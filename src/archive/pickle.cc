// SPDX-License-Identifier: MIT
#include "archive/pickle.h"

#include "archive/pickle_machine.h"

namespace ria {

const PickleValue* PickleValue::find(std::string_view key) const {
  if (kind != Kind::dict) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::string && items[i]->text == key) return items[i + 1];
  }
  return nullptr;
}

Pickle Pickle::parse(std::span<const std::uint8_t> bytes, const std::filesystem::path& file) {
  return PickleMachine(bytes, file).run();
}

}  // namespace ria
