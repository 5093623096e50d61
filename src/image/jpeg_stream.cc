// SPDX-License-Identifier: MIT
#include <algorithm>
#include <stdexcept>

#include "ria/drive.h"

namespace ria {

namespace {

constexpr std::size_t kChunk = 1 << 16;
constexpr std::uint8_t kMark = 0xff;
constexpr std::uint8_t kStart = 0xd8;  // SOI
constexpr std::uint8_t kEnd = 0xd9;    // EOI
constexpr std::uint8_t kScan = 0xda;   // SOS

/// RST0 to RST7 and TEM: no length follows.
bool stands_alone(std::uint8_t marker) {
  return (marker >= 0xd0 && marker <= 0xd7) || marker == 0x01;
}

}  // namespace

JpegStream::JpegStream(Read read, std::size_t largest) : read_(std::move(read)), largest_(largest) {
  if (!read_) throw std::invalid_argument("a stream of JPEGs needs something to read from");
  if (largest_ < 4) throw std::invalid_argument("largest is below the 4 bytes of an empty JPEG");
}

/// Whether the picture that begins at begin_ has `size` bytes, read if need be.
bool JpegStream::fill(std::size_t size) {
  while (buffer_.size() - begin_ < size && !ended_) {
    if (begin_ > 0) {
      buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
    const std::size_t had = buffer_.size();
    buffer_.resize(had + kChunk);
    const std::size_t got = std::min(kChunk, read_(std::span(buffer_).subspan(had)));
    buffer_.resize(had + got);
    ended_ = got == 0;
  }
  return buffer_.size() - begin_ >= size;
}

/// To the next bytes that a JPEG begins with: start of image and another marker.
bool JpegStream::find_start() {
  bool other = false;
  while (fill(3)) {
    const std::uint8_t* at = buffer_.data() + begin_;
    if (at[0] == kMark && at[1] == kStart && at[2] == kMark) break;
    const auto from = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    begin_ += static_cast<std::size_t>(std::find(from + 1, buffer_.end(), kMark) - from);
    other = true;
  }
  const bool found = buffer_.size() - begin_ >= 3;
  other |= !found && buffer_.size() > begin_;
  damaged_ += other && !broken_;  // the rest of a broken picture is not another
  broken_ = false;
  return found;
}

/// Over coded pixels from `at`: to the next marker that is neither a stuffed 0xff nor a restart.
JpegStream::Walk JpegStream::walk_scan(std::size_t& at) {
  for (;; ++at) {
    if (at > largest_) return Walk::kBroken;
    if (!fill(at + 2)) return Walk::kEnded;
    const std::uint8_t* bytes = buffer_.data() + begin_ + at;
    if (bytes[0] != kMark || bytes[1] == 0 || bytes[1] == kMark) continue;
    if (!stands_alone(bytes[1])) return Walk::kWhole;
  }
}

/// Over the segments of the picture at begin_. `at` is then its length, or where it breaks.
JpegStream::Walk JpegStream::walk(std::size_t& at) {
  at = 2;
  while (at <= largest_) {
    if (!fill(at + 2)) return Walk::kEnded;
    const std::uint8_t* bytes = buffer_.data() + begin_ + at;
    if (bytes[0] != kMark) return Walk::kBroken;
    const std::uint8_t marker = bytes[1];
    if (marker == kMark) {  // a fill byte
      ++at;
      continue;
    }
    if (marker == 0 || marker == kStart) return Walk::kBroken;
    at += 2;
    if (marker == kEnd) return at <= largest_ ? Walk::kWhole : Walk::kBroken;
    if (stands_alone(marker)) continue;
    if (!fill(at + 2)) return Walk::kEnded;
    bytes = buffer_.data() + begin_ + at;
    const std::size_t length = std::size_t{bytes[0]} << 8 | bytes[1];
    if (length < 2) return Walk::kBroken;
    at += length;
    if (marker != kScan) continue;
    if (const Walk scanned = walk_scan(at); scanned != Walk::kWhole) return scanned;
  }
  return Walk::kBroken;
}

std::optional<std::vector<std::uint8_t>> JpegStream::next() {
  while (find_start()) {
    std::size_t length = 0;
    const Walk walked = walk(length);
    const auto from = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    // Goes on where a picture breaks, not inside it: no byte is looked at twice, however many
    // beginnings there are.
    begin_ += std::min(length, buffer_.size() - begin_);
    if (walked == Walk::kWhole)
      return std::vector(from, from + static_cast<std::ptrdiff_t>(length));
    ++damaged_;
    broken_ = true;
  }
  return std::nullopt;
}

}  // namespace ria
