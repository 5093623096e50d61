// SPDX-License-Identifier: MIT
#include "image/format.h"

#include <string_view>

#include "image/byte_reader.h"

namespace ria {

PictureFormat picture_format(std::span<const std::uint8_t> bytes) {
  const ByteReader reader{bytes};
  if (reader.has(0, "\xFF\xD8\xFF")) return PictureFormat::kJpeg;
  if (reader.has(0, "\x89PNG\r\n\x1A\n")) return PictureFormat::kPng;
  if (reader.has(0, {"II*\0", 4}) || reader.has(0, {"MM\0*", 4})) return PictureFormat::kTiff;
  if (reader.has(0, "RIFF") && reader.has(8, "WEBP")) return PictureFormat::kWebp;
  // Two letters alone may begin a text as well.
  const bool reserved_zero = reader.number(6, 4) == 0u;
  if (reader.has(0, "BM") && reserved_zero) return PictureFormat::kBmp;
  const bool pnm =
      bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
      std::string_view(" \t\r\n#").find(static_cast<char>(bytes[2])) != std::string_view::npos;
  return pnm ? PictureFormat::kPnm : PictureFormat::kUnknown;
}

}  // namespace ria
