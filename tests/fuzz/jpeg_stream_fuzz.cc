// SPDX-License-Identifier: MIT
// JPEGs one after the other: whatever the bytes, all pictures together are no longer than they.
#include <algorithm>
#include <cstdlib>

#include "ria/drive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::size_t at = 0;
  const std::size_t piece = 1 + (size > 0 ? data[0] : 0);
  ria::JpegStream stream(
      [&](std::span<std::uint8_t> to) {
        const std::size_t count = std::min({piece, to.size(), size - at});
        std::copy_n(data + at, count, to.begin());
        at += count;
        return count;
      },
      1 << 16);
  std::size_t given = 0;
  while (const auto picture = stream.next()) given += picture->size();
  if (given > size) std::abort();
  return 0;
}
