// SPDX-License-Identifier: MIT
// Every picture format and where it says which way up it is; the first bytes choose.
#include "fuzz.h"
#include "ria/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = "input.picture";
  return ria::fuzz::run(data, size, file, [&](const auto& mapping) {
    const ria::Image image = ria::decode_image(mapping->bytes(), file);
    const auto pixels = static_cast<std::size_t>(image.height) * image.width;
    if (pixels == 0 || image.rgb.size() != pixels * 3) ria::fuzz::report("a picture's size is off");
  });
}
