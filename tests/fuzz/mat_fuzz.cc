// SPDX-License-Identifier: MIT
#include "fuzz.h"
#include "tensor/mat.h"

namespace {

void visit(const ria::MatValue& value) {
  using Kind = ria::MatValue::Kind;
  if (value.kind == Kind::text) value.rows();
  for (const ria::MatValue& cell : value.cells) visit(cell);
  for (const ria::MatValue& field : value.fields) visit(field);
  const bool lost = value.size() > 0 && !value.field_names.empty() &&
                    value.find(value.field_names.back()) == nullptr;
  if (lost) ria::fuzz::report("a field is lost");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = "input.mat";
  return ria::fuzz::run(data, size, file, [&](const auto& mapping) {
    for (const auto& [name, value] : ria::read_mat(file, mapping)) visit(value);
    ria::fuzz::check(ria::read_mat_tensors(file, mapping));
  });
}
