// SPDX-License-Identifier: MIT
// torch.save's zip and legacy forms; anything else is read as a bare pickle.
#include "archive/pickle.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = "input.pth";
  return ria::fuzz::run(data, size, file, [&](const auto& mapping) {
    const auto bytes = mapping->bytes();
    if (ria::starts_with(bytes, "PK") || ria::starts_with(bytes, "\x80\x02\x8a")) {
      ria::fuzz::check(ria::TensorFile::read(file, mapping));
    } else {
      ria::Pickle::parse(bytes, file);
    }
  });
}
