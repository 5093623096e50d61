// SPDX-License-Identifier: MIT
#include "image/format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr const char* kCutShort = "the picture is cut short";
constexpr const char* kUnreadable = "it is no picture ria can read";
constexpr std::size_t kPngHeader = 8;
constexpr std::size_t kPngChunkFrame = 12;  // length, type, CRC

bool has(Bytes bytes, std::size_t offset, std::string_view text) {
  return bytes.size() >= offset + text.size() &&
         std::memcmp(bytes.data() + offset, text.data(), text.size()) == 0;
}

std::uint32_t big_endian(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | p[3];
}

std::uint32_t little_endian(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[3]) << 24 | static_cast<std::uint32_t>(p[2]) << 16 |
         static_cast<std::uint32_t>(p[1]) << 8 | p[0];
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0u);
    table[i] = value;
  }
  return table;
}

std::uint32_t crc32(Bytes bytes) {
  static constexpr std::array<std::uint32_t, 256> table = crc_table();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const std::uint8_t byte : bytes) crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF];
  return ~crc;
}

std::string png_fault(Bytes bytes) {
  for (std::size_t at = kPngHeader; at + kPngChunkFrame <= bytes.size();) {
    const std::size_t length = big_endian(bytes.data() + at);
    if (length > bytes.size() - at - kPngChunkFrame) return kCutShort;
    const Bytes body = bytes.subspan(at + 4, length + 4);
    // Bit 5 of the first letter tells chunks that may be ignored; those are left out later.
    const bool needed = (body[0] & 0x20) == 0;
    if (needed && crc32(body) != big_endian(bytes.data() + at + 8 + length)) {
      return "the picture is damaged (PNG checksum)";
    }
    if (has(body, 0, "IEND")) return {};
    at += length + kPngChunkFrame;
  }
  return kCutShort;
}

std::string bmp_fault(Bytes bytes) {
  constexpr std::size_t kHeaders = 14 + 40;
  if (bytes.size() < kHeaders) return kCutShort;
  const std::uint64_t offset = little_endian(bytes.data() + 10);
  if (offset > bytes.size()) return kCutShort;
  if (little_endian(bytes.data() + 14) < 40) return {};
  const auto width = static_cast<std::int32_t>(little_endian(bytes.data() + 18));
  const auto height = static_cast<std::int32_t>(little_endian(bytes.data() + 22));
  const std::uint32_t bits = bytes[28] | static_cast<std::uint32_t>(bytes[29]) << 8;
  const std::uint32_t compression = little_endian(bytes.data() + 30);
  if (width < 1 || height == 0) return {};
  if (compression == 1 || compression == 2) {
    return little_endian(bytes.data() + 34) > bytes.size() - offset ? kCutShort : "";
  }
  const std::uint64_t row = (static_cast<std::uint64_t>(width) * bits + 31) / 32 * 4;
  const std::uint64_t rows = height < 0 ? -static_cast<std::int64_t>(height) : height;
  return row * rows > bytes.size() - offset ? kCutShort : "";
}

/// The next number of a PNM header, behind spaces and comments; nothing if there is none.
std::optional<std::uint64_t> pnm_number(Bytes bytes, std::size_t& at) {
  while (at < bytes.size() && (std::isspace(bytes[at]) != 0 || bytes[at] == '#')) {
    if (bytes[at] == '#') {
      while (at < bytes.size() && bytes[at] != '\n') ++at;
    } else {
      ++at;
    }
  }
  std::uint64_t value = 0;
  const std::size_t first = at;
  for (; at < bytes.size() && std::isdigit(bytes[at]) != 0 && at - first < 9; ++at) {
    value = value * 10 + (bytes[at] - '0');
  }
  if (at == first) return std::nullopt;
  return value;
}

std::string pnm_fault(Bytes bytes) {
  const char kind = static_cast<char>(bytes[1]);  // 1..3: digits, 4..6: bytes
  const bool bitmap = kind == '1' || kind == '4';
  std::size_t at = 2;
  const auto width = pnm_number(bytes, at);
  const auto height = pnm_number(bytes, at);
  const auto largest = bitmap ? std::optional<std::uint64_t>(1) : pnm_number(bytes, at);
  if (!width || !height || !largest) return at >= bytes.size() ? kCutShort : kUnreadable;
  if (kind < '4') return {};
  const std::uint64_t row = bitmap ? (*width + 7) / 8 : kind == '5' ? *width : *width * 3;
  // A size beyond any file is left to the decoder's own limit, which says so.
  if (*width > 1000000 || *height > 1000000 || *width * *height > (1u << 30)) return {};
  const std::uint64_t size = row * *height * (*largest > 255 ? 2 : 1);
  return at + 1 + size > bytes.size() ? kCutShort : "";
}

/// The numbers of a TIFF, in its byte order; nothing beyond the end.
struct TiffReader {
  Bytes bytes;
  bool little;

  std::optional<std::uint32_t> number(std::size_t at, int size) const {
    if (at + size > bytes.size()) return std::nullopt;
    std::uint32_t value = 0;
    for (int i = 0; i < size; ++i) value = value << 8 | bytes[at + (little ? size - 1 - i : i)];
    return value;
  }

  /// The values of the directory entry at `at`; none if they are no integers or not in the file.
  std::vector<std::uint32_t> values(std::size_t at) const {
    const int size = number(at + 2, 2) == 3u ? 2 : 4;
    const std::size_t count = number(at + 4, 4).value_or(0);
    if (count > bytes.size() / size) return {};
    const std::size_t from = count * size <= 4 ? at + 8 : number(at + 8, 4).value_or(0);
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = number(from + i * size, size);
      if (!value) return {};
      out.push_back(*value);
    }
    return out;
  }
};

// The pixels are in strips or tiles; the directory that tells where may stand behind them.
std::string tiff_fault(Bytes bytes) {
  const TiffReader reader{bytes, bytes[0] == 'I'};
  const auto directory = reader.number(4, 4);
  const auto entries = directory ? reader.number(*directory, 2) : std::nullopt;
  if (!entries || *directory + 2ull + *entries * 12ull > bytes.size()) return kCutShort;
  std::vector<std::uint32_t> offsets, sizes;
  std::uint32_t bits = 1;
  std::uint32_t colours = 0;
  for (std::uint32_t i = 0; i < *entries; ++i) {
    const std::size_t at = *directory + 2ull + i * 12ull;
    const std::uint32_t tag = *reader.number(at, 2);
    if (tag != 258 && tag != 262 && tag != 273 && tag != 279 && tag != 324 && tag != 325) continue;
    std::vector<std::uint32_t> values = reader.values(at);
    if (values.empty()) return kCutShort;
    if (tag == 258) bits = values[0];
    if (tag == 262) colours = values[0];
    if (tag == 273 || tag == 324) offsets = std::move(values);
    if (tag == 279 || tag == 325) sizes = std::move(values);
  }
  for (std::size_t i = 0; i < std::min(offsets.size(), sizes.size()); ++i) {
    if (static_cast<std::uint64_t>(offsets[i]) + sizes[i] > bytes.size()) return kCutShort;
  }
  constexpr std::uint32_t kCmyk = 5;
  const bool known_depth = bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
  if (known_depth && (colours != kCmyk || bits == 8)) return {};
  return "a TIFF of " + std::to_string(bits) + " bits a sample is not supported";
}

}  // namespace

PictureFormat picture_format(Bytes bytes) {
  if (has(bytes, 0, "\xFF\xD8\xFF")) return PictureFormat::kJpeg;
  if (has(bytes, 0, "\x89PNG\r\n\x1A\n")) return PictureFormat::kPng;
  if (has(bytes, 0, {"II*\0", 4}) || has(bytes, 0, {"MM\0*", 4})) return PictureFormat::kTiff;
  if (has(bytes, 0, "RIFF") && has(bytes, 8, "WEBP")) return PictureFormat::kWebp;
  // Two letters alone may begin a text as well.
  const bool reserved_zero =
      bytes.size() >= 10 && std::all_of(&bytes[6], &bytes[10], [](auto b) { return b == 0; });
  if (has(bytes, 0, "BM") && reserved_zero) return PictureFormat::kBmp;
  const bool pnm = bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
                   std::strchr(" \t\r\n#", bytes[2]) != nullptr && bytes[2] != 0;
  return pnm ? PictureFormat::kPnm : PictureFormat::kUnknown;
}

std::string find_fault(Bytes bytes, PictureFormat format) {
  switch (format) {
    case PictureFormat::kUnknown:
      return kUnreadable;
    case PictureFormat::kJpeg:
      return {};  // its decoder tells
    case PictureFormat::kPng:
      return png_fault(bytes);
    case PictureFormat::kBmp:
      return bmp_fault(bytes);
    case PictureFormat::kWebp:
      return little_endian(bytes.data() + 4) > bytes.size() - 8 ? kCutShort : "";
    case PictureFormat::kTiff:
      return tiff_fault(bytes);
    case PictureFormat::kPnm:
      return pnm_fault(bytes);
  }
  return {};
}

std::vector<std::uint8_t> bare_png(Bytes bytes) {
  std::vector<std::uint8_t> out(bytes.begin(), bytes.begin() + kPngHeader);
  out.reserve(bytes.size());
  for (std::size_t at = kPngHeader; at + kPngChunkFrame <= bytes.size();) {
    const Bytes chunk = bytes.subspan(at, big_endian(bytes.data() + at) + kPngChunkFrame);
    if ((chunk[4] & 0x20) == 0) out.insert(out.end(), chunk.begin(), chunk.end());
    if (has(chunk, 4, "IEND")) break;
    at += chunk.size();
  }
  return out;
}

void keep_tiff_colours(std::span<std::uint8_t> bytes) {
  constexpr std::uint32_t kExtraSamples = 338;
  constexpr std::uint32_t kUnassociated = 2;
  constexpr std::uint8_t kAssociated = 1;
  const TiffReader reader{bytes, bytes[0] == 'I'};
  const std::size_t directory = *reader.number(4, 4);
  const std::uint32_t entries = *reader.number(directory, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * std::size_t{12};
    // One or two values of 16 bits are in the entry itself.
    if (reader.number(at, 2) != kExtraSamples || *reader.number(at + 4, 4) > 2) continue;
    if (reader.number(at + 8, 2) == kUnassociated)
      bytes[at + (reader.little ? 8 : 9)] = kAssociated;
  }
}

}  // namespace ria
