// SPDX-License-Identifier: MIT
#include "fuzz.h"
#include "tensor/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = "input.safetensors";
  return ria::fuzz::run(data, size, file, [&](const auto& mapping) {
    ria::fuzz::check(ria::read_safetensors(file, mapping));
  });
}
