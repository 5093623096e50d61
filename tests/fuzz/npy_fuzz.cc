// SPDX-License-Identifier: MIT
// .npy of numbers, text and objects; .npz.
#include "fuzz.h"
#include "tensor/npy.h"
#include "tensor/npy_objects.h"

namespace {

void visit(const ria::ObjectArray& array) {
  // One list may be shared by all elements: reading each is no fault of the reader's.
  std::size_t integers = 0;
  for (std::size_t i = 0; i < array.size() && integers < 100'000; ++i) {
    try {
      integers += array.integers(i).size();
      array.text(i);
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = "input.npy";
  const auto run = [&](auto read) { ria::fuzz::run(data, size, file, read); };
  if (size > 0 && data[0] == 'P') {
    run([&](const auto& mapping) { ria::fuzz::check(ria::TensorFile::read(file, mapping)); });
    return 0;
  }
  run([&](const auto& mapping) { ria::fuzz::check(read_npy(file, mapping->bytes(), mapping)); });
  run([&](const auto& mapping) { visit(ria::read_npy_objects(file, mapping->bytes())); });
  run([&](const auto& mapping) {
    const ria::TextArray text = ria::read_npy_text(file, mapping->bytes());
    if (ria::checked_product(text.shape) != text.values.size()) ria::fuzz::report("text is lost");
  });
  return 0;
}
