// SPDX-License-Identifier: MIT
#include "image/orientation.h"

#include <algorithm>
#include <utility>

#include "image/byte_reader.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

/// Tag 274 of the first directory of a TIFF, which is also what EXIF is written as.
int tiff_orientation(Bytes tiff) {
  constexpr std::uint32_t kOrientation = 274, kShort = 3;
  const ByteReader reader{tiff, !tiff.empty() && tiff[0] == 'I'};
  if (!reader.has(0, {"II*\0", 4}) && !reader.has(0, {"MM\0*", 4})) return 1;
  const std::size_t directory = reader.number(4, 4).value_or(0);
  const std::uint32_t entries = directory == 0 ? 0 : reader.number(directory, 2).value_or(0);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * std::size_t{12};
    if (!reader.holds(at, 12)) break;
    if (reader.number(at, 2) != kOrientation) continue;
    const bool one_short = reader.number(at + 2, 2) == kShort && reader.number(at + 4, 4) == 1u;
    const std::uint32_t value = *reader.number(at + 8, 2);
    return one_short && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

/// EXIF as JPEG's application segment holds it, which some writers copy into a WebP.
Bytes without_prefix(Bytes exif) {
  constexpr std::size_t kPrefix = 6;
  return ByteReader{exif}.has(0, {"Exif\0\0", kPrefix}) ? exif.subspan(kPrefix) : exif;
}

/// The segments before the first scan.
Bytes jpeg_exif(Bytes file) {
  constexpr std::uint32_t kApp1 = 0xFFE1, kScan = 0xFFDA, kEnd = 0xFFD9;
  const ByteReader reader{file, false};
  for (std::size_t at = 2; reader.holds(at, 4);) {
    const std::uint32_t marker = *reader.number(at, 2);
    if (marker == 0xFFFF) {  // any number of FF may stand before a marker
      ++at;
      continue;
    }
    const std::uint32_t length = *reader.number(at + 2, 2);  // with its own two bytes
    if (marker < 0xFF01 || marker == kScan || marker == kEnd || length < 2) break;
    if (!reader.holds(at + 2, length)) break;
    const Bytes body = file.subspan(at + 4, length - 2);
    if (marker == kApp1 && ByteReader{body}.has(0, {"Exif\0\0", 6})) return without_prefix(body);
    at += 2 + length;
  }
  return {};
}

Bytes png_exif(Bytes file) {
  const ByteReader reader{file, false};
  for (std::size_t at = 8; reader.holds(at, 12);) {
    const std::size_t length = *reader.number(at, 4);
    if (!reader.holds(at + 8, length)) break;
    if (reader.has(at + 4, "eXIf")) return file.subspan(at + 8, length);
    at += 12 + length;
  }
  return {};
}

Bytes webp_exif(Bytes file) {
  const ByteReader reader{file};
  for (std::size_t at = 12; reader.holds(at, 8);) {
    const std::size_t length = *reader.number(at + 4, 4);
    if (!reader.holds(at + 8, length)) break;
    if (reader.has(at, "EXIF")) return without_prefix(file.subspan(at + 8, length));
    at += 8 + length + length % 2;
  }
  return {};
}

}  // namespace

int find_orientation(Bytes file, PictureFormat format) {
  switch (format) {
    case PictureFormat::kJpeg:
      return tiff_orientation(jpeg_exif(file));
    case PictureFormat::kPng:
      return tiff_orientation(png_exif(file));
    case PictureFormat::kWebp:
      return tiff_orientation(webp_exif(file));
    case PictureFormat::kTiff:
      return tiff_orientation(file);
    default:
      return 1;
  }
}

Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  // The stored rows are seen as columns from 5 on; what was stored last is seen first where the
  // tables say so.
  constexpr bool kRowsTurned[] = {false, false, true, true, false, true, true, false};
  constexpr bool kColumnsTurned[] = {false, true, true, false, false, false, true, true};
  const bool swapped = orientation >= 5;
  const std::ptrdiff_t height = image.height, width = image.width;
  const std::ptrdiff_t row = kRowsTurned[orientation - 1] ? -width * 3 : width * 3;
  const std::ptrdiff_t column = kColumnsTurned[orientation - 1] ? -3 : 3;
  const std::ptrdiff_t first =
      (row < 0 ? -row * (height - 1) : 0) + (column < 0 ? -column * (width - 1) : 0);
  Image out{image.height, image.width, std::vector<std::uint8_t>(image.rgb.size())};
  if (swapped) std::swap(out.height, out.width);
  std::uint8_t* to = out.rgb.data();
  for (std::ptrdiff_t y = 0; y < out.height; ++y) {
    for (std::ptrdiff_t x = 0; x < out.width; ++x, to += 3) {
      const std::ptrdiff_t from = first + (swapped ? y * column + x * row : y * row + x * column);
      std::copy_n(image.rgb.data() + from, 3, to);
    }
  }
  return out;
}

}  // namespace ria
