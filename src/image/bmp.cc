// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <utility>

#include "image/byte_reader.h"
#include "image/codec.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

enum Compression : std::uint32_t { kNone = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3 };

struct Header {
  std::uint32_t size = 0;  ///< of the header, in bytes; 12 is that of OS/2
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool top_down = false;
  std::uint32_t bits = 0;  ///< of a pixel
  std::uint32_t compression = kNone;
  std::size_t pixels_at = 0;
  std::array<std::array<std::uint8_t, 3>, 256> palette{};  ///< red, green, blue
  std::array<std::uint32_t, 3> masks{};                    ///< where red, green, blue are
};

[[noreturn]] void fail(const char* reason) { throw std::runtime_error(reason); }

/// A number that must be there.
std::uint32_t number(const ByteReader& reader, std::size_t at, int size) {
  const auto value = reader.number(at, size);
  if (!value) fail(kCutShort);
  return *value;
}

constexpr std::size_t kHeaderAt = 14;
constexpr std::uint32_t kOldHeader = 12;
constexpr std::size_t kMasksAt = kHeaderAt + 40;  // inside the newer headers, behind the older ones

bool is_known_kind(const Header& header) {
  switch (header.compression) {
    case kNone:
      return header.bits == 1 || header.bits == 4 || header.bits == 8 || header.bits == 16 ||
             header.bits == 24 || header.bits == 32;
    case kRuns8:
      return header.bits == 8;
    case kRuns4:
      return header.bits == 4;
    case kMasks:
      return header.bits == 16 || header.bits == 32;
    default:
      return false;
  }
}

void read_palette(const ByteReader& reader, Header& header) {
  const std::uint32_t used = header.size == kOldHeader ? 0 : number(reader, kHeaderAt + 32, 4);
  const std::uint32_t count = used == 0 ? 1u << header.bits : used;
  if (count > header.palette.size()) fail("the picture is a damaged BMP: too many colours");
  const std::size_t entry = header.size == kOldHeader ? 3 : 4;  // blue, green, red, nothing
  const std::size_t at = kHeaderAt + header.size;
  if (!reader.holds(at, count * entry)) fail(kCutShort);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (int c = 0; c < 3; ++c) header.palette[i][c] = reader.bytes[at + i * entry + 2 - c];
  }
}

Header read_header(const ByteReader& reader) {
  Header header;
  header.pixels_at = number(reader, 10, 4);
  header.size = number(reader, kHeaderAt, 4);
  const bool old = header.size == kOldHeader;
  if (!old && header.size < 40) fail("this kind of BMP is not supported");
  header.width = static_cast<std::int32_t>(number(reader, kHeaderAt + 4, old ? 2 : 4));
  header.height = static_cast<std::int32_t>(number(reader, kHeaderAt + (old ? 6 : 8), old ? 2 : 4));
  header.bits = number(reader, kHeaderAt + (old ? 10 : 14), 2);
  if (!old) header.compression = number(reader, kHeaderAt + 16, 4);
  if (!is_known_kind(header)) fail("this kind of BMP is not supported");
  header.top_down = header.height < 0;
  if (header.top_down) header.height = -header.height;
  if (header.width < 1 || header.height < 1) fail("the picture is a damaged BMP: it has no pixels");
  check_picture_size(header.height, header.width);
  if (header.bits <= 8) read_palette(reader, header);
  header.masks = header.bits == 16 ? std::array<std::uint32_t, 3>{0x7C00, 0x3E0, 0x1F}
                                   : std::array<std::uint32_t, 3>{0xFF0000, 0xFF00, 0xFF};
  for (int c = 0; header.compression == kMasks && c < 3; ++c) {
    header.masks[c] = number(reader, kMasksAt + 4 * c, 4);
  }
  return header;
}

/// What a mask cuts out, as the upper bits of a byte.
std::uint8_t cut_out(std::uint32_t pixel, std::uint32_t mask) {
  if (mask == 0) return 0;
  const std::uint32_t value = (pixel & mask) >> std::countr_zero(mask);
  const int bits = std::bit_width(mask >> std::countr_zero(mask));
  return static_cast<std::uint8_t>(bits >= 8 ? value >> (bits - 8) : value << (8 - bits));
}

/// Where a stored row goes.
std::uint8_t* row_of(Image& image, const Header& header, std::int64_t y) {
  const std::int64_t row = header.top_down ? y : header.height - 1 - y;
  return image.rgb.data() + row * header.width * 3;
}

void put(const std::array<std::uint8_t, 3>& colour, std::uint8_t* rgb) {
  std::copy(colour.begin(), colour.end(), rgb);
}

void unpack_row(const Header& header, const std::uint8_t* line, std::uint8_t* rgb) {
  const int bytes = static_cast<int>(header.bits / 8);
  for (std::int64_t x = 0; x < header.width; ++x, rgb += 3) {
    if (header.bits <= 8) {
      const std::int64_t bit = x * header.bits;
      const std::uint32_t index = line[bit / 8] >> (8 - header.bits - bit % 8);
      put(header.palette[index & ((1u << header.bits) - 1)], rgb);
    } else {
      std::uint32_t pixel = 0;
      for (int b = 0; b < bytes; ++b) pixel |= std::uint32_t{line[x * bytes + b]} << 8 * b;
      for (int c = 0; c < 3; ++c) rgb[c] = cut_out(pixel, header.masks[c]);
    }
  }
}

Image unpack_rows(const ByteReader& reader, const Header& header) {
  const std::size_t row = (static_cast<std::size_t>(header.width) * header.bits + 31) / 32 * 4;
  if (!reader.holds(header.pixels_at, row * header.height)) fail(kCutShort);
  Image image = blank_image(header.height, header.width);
  for (std::int64_t y = 0; y < header.height; ++y) {
    const std::uint8_t* line = reader.bytes.data() + header.pixels_at + y * row;
    unpack_row(header, line, row_of(image, header, y));
  }
  return image;
}

/// Runs of one byte's pixels (one of 8 bits or two of 4), stretches of bytes, and jumps; what they
/// leave out has the first colour.
class Runs {
 public:
  Runs(const ByteReader& reader, const Header& header)
      : reader_(reader), header_(header), at_(header.pixels_at) {}

  Image unpack() {
    image_ = blank_image(header_.height, header_.width);
    for (std::size_t i = 0; i < image_.rgb.size(); i += 3) put(header_.palette[0], &image_.rgb[i]);
    while (y_ < header_.height && !(y_ == header_.height - 1 && x_ == header_.width)) {
      if (!step()) break;
    }
    return std::move(image_);
  }

 private:
  std::uint8_t next() { return static_cast<std::uint8_t>(number(reader_, at_++, 1)); }

  /// False at the picture's end.
  bool step() {
    const int count = next();
    const int code = next();
    if (count > 0) {
      const std::uint8_t pair[] = {static_cast<std::uint8_t>(code)};
      write(count, pair, 0);
    } else if (code == 0) {
      x_ = 0;
      ++y_;
    } else if (code == 1) {
      return false;
    } else if (code == 2) {
      x_ += next();
      y_ += next();
    } else {
      const std::size_t size = header_.bits == 4 ? (code + 1) / 2 : code;
      if (!reader_.holds(at_, size)) fail(kCutShort);
      write(code, reader_.bytes.data() + at_, 1);
      at_ += size + size % 2;
    }
    return true;
  }

  /// Writes `count` pixels of the bytes, which follow each other by `step`.
  void write(int count, const std::uint8_t* bytes, int step) {
    if (x_ == header_.width) {  // an end of line that was left out
      x_ = 0;
      ++y_;
    }
    if (y_ >= header_.height || x_ + count > header_.width) {
      fail("the picture is a damaged BMP: a run leaves its row");
    }
    std::uint8_t* rgb = row_of(image_, header_, y_) + x_ * 3;
    for (int i = 0; i < count; ++i, rgb += 3) {
      const int byte = bytes[header_.bits == 4 ? i / 2 * step : i * step];
      const int half = i % 2 == 0 ? byte >> 4 : byte & 15;
      put(header_.palette[header_.bits == 4 ? half : byte], rgb);
    }
    x_ += count;
  }

  const ByteReader& reader_;
  const Header& header_;
  std::size_t at_;
  std::int64_t x_ = 0;
  std::int64_t y_ = 0;
  Image image_;
};

}  // namespace

Image decode_bmp(Bytes bytes) {
  const ByteReader reader{bytes};
  const Header header = read_header(reader);
  const bool runs = header.compression == kRuns8 || header.compression == kRuns4;
  return runs ? Runs(reader, header).unpack() : unpack_rows(reader, header);
}

}  // namespace ria
