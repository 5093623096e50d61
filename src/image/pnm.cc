// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "image/byte_reader.h"
#include "image/codec.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

[[noreturn]] void fail(const char* reason) { throw std::runtime_error(reason); }

/// A header and, in the older kinds, all pixels are numbers between spaces and comments.
class Digits {
 public:
  Digits(Bytes bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  /// The next number; beyond a billion they are all alike.
  std::uint32_t next() {
    std::uint64_t value = next_digit();
    for (; at_ < bytes_.size() && std::isdigit(bytes_[at_]) != 0; ++at_) {
      value = std::min<std::uint64_t>(value * 10 + (bytes_[at_] - '0'), 1'000'000'000);
    }
    return static_cast<std::uint32_t>(value);
  }

  /// A bitmap's digits may stand without spaces between.
  std::uint32_t next_digit() {
    skip();
    if (at_ == bytes_.size()) fail(kCutShort);
    if (std::isdigit(bytes_[at_]) == 0) fail("it is no picture ria can read");
    return bytes_[at_++] - '0';
  }

  std::size_t at() const { return at_; }

 private:
  void skip() {
    bool comment = false;
    for (; at_ < bytes_.size(); ++at_) {
      const std::uint8_t c = bytes_[at_];
      if (c == '#') comment = true;
      if (!comment && std::isspace(c) == 0) return;
      if (c == '\n' || c == '\r') comment = false;
    }
  }

  Bytes bytes_;
  std::size_t at_;
};

struct Header {
  bool binary;
  bool bitmap;
  int channels;
  std::uint32_t height;
  std::uint32_t width;
  std::uint32_t largest;  ///< what full light is written as

  std::size_t row() const { return static_cast<std::size_t>(width) * channels; }
};

/// A value as a byte; of 16 bits the upper 8.
std::uint8_t to_byte(std::uint32_t value, const Header& header) {
  value = std::min(value, header.largest);
  if (header.bitmap) return value == 0 ? 255 : 0;  // 1 is black
  return static_cast<std::uint8_t>(header.largest == 65535 ? value >> 8
                                                           : value * 255 / header.largest);
}

/// Values row by row, as many as `header` says; whatever they are stored as.
class Values {
 public:
  Values(const Header& header, Bytes bytes, std::size_t at)
      : header_(header), bytes_(bytes), digits_(bytes, at), at_(at) {}

  std::uint32_t next(std::size_t column) {
    if (!header_.binary) return header_.bitmap ? digits_.next_digit() : digits_.next();
    if (!header_.bitmap) {
      const std::uint32_t high = bytes_[at_++];
      return header_.largest > 255 ? high << 8 | bytes_[at_++] : high;
    }
    const std::uint32_t bit = bytes_[at_] >> (7 - column % 8) & 1;
    if (column % 8 == 7 || column + 1 == header_.width) ++at_;
    return bit;
  }

 private:
  const Header& header_;
  Bytes bytes_;
  Digits digits_;
  std::size_t at_;
};

/// The fewest bytes the pixels can be stored in.
std::uint64_t fewest_bytes(const Header& header) {
  const std::uint64_t row = header.row();
  if (header.bitmap) return header.height * (header.binary ? (row + 7) / 8 : row);
  if (header.binary) return header.height * row * (header.largest > 255 ? 2 : 1);
  return header.height * row * 2 - 1;  // a digit each and a space between
}

}  // namespace

Image decode_pnm(Bytes bytes) {
  const char kind = static_cast<char>(bytes[1]);  // 1..3: digits, 4..6: bytes
  Digits digits(bytes, 2);
  Header header{
      kind >= '4', kind == '1' || kind == '4', kind == '3' || kind == '6' ? 3 : 1, 0, 0, 1};
  header.width = digits.next();
  header.height = digits.next();
  if (!header.bitmap) header.largest = digits.next();
  if (header.largest < 1 || header.largest > 65535) fail("it is no picture ria can read");
  check_picture_size(header.height, header.width);
  const std::size_t pixels_at = digits.at() + 1;  // behind one space
  if (pixels_at > bytes.size() || fewest_bytes(header) > bytes.size() - pixels_at) fail(kCutShort);
  Image image = blank_image(header.height, header.width);
  Values values(header, bytes, pixels_at);
  std::uint8_t* rgb = image.rgb.data();
  for (std::uint32_t y = 0; y < header.height; ++y) {
    for (std::size_t x = 0; x < header.row(); ++x) {
      const std::uint8_t value = to_byte(values.next(x), header);
      const int copies = header.channels == 3 ? 1 : 3;
      rgb = std::fill_n(rgb, copies, value);
    }
  }
  return image;
}

}  // namespace ria
