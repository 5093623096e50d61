// SPDX-License-Identifier: MIT
#include "archive/inflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "archive/bytes.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

// No deflate stream unpacks further than this.
constexpr std::uint64_t kLargestRatio = 1032;

class Stream {
 public:
  explicit Stream(DeflateForm form) {
    if (::inflateInit2(&state_, form == DeflateForm::raw ? -MAX_WBITS : MAX_WBITS) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Stream() { ::inflateEnd(&state_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Fills `out` as far as the data go; false if they are damaged. zlib counts in 32 bits.
  bool read(Bytes& packed, std::span<std::uint8_t>& out) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    while (!ended_) {
      const auto available_in = static_cast<uInt>(std::min(packed.size(), kMost));
      const auto available_out = static_cast<uInt>(std::min(out.size(), kMost));
      state_.next_in = const_cast<Bytef*>(packed.data());
      state_.avail_in = available_in;
      state_.next_out = out.data();
      state_.avail_out = available_out;
      const int result = ::inflate(&state_, Z_NO_FLUSH);
      packed = packed.subspan(available_in - state_.avail_in);
      out = out.subspan(available_out - state_.avail_out);
      ended_ = result == Z_STREAM_END;
      if (result == Z_BUF_ERROR) return true;  // either side is used up
      if (result != Z_OK && result != Z_STREAM_END) return false;
    }
    return true;
  }
  bool ended() const { return ended_; }

 private:
  z_stream state_{};
  bool ended_ = false;
};

}  // namespace

std::optional<std::vector<std::uint8_t>> inflate_start(Bytes packed,
                                                       std::size_t size,
                                                       DeflateForm form) {
  std::vector<std::uint8_t> out(size);
  std::span<std::uint8_t> rest(out);
  if (!Stream(form).read(packed, rest)) return std::nullopt;
  out.resize(size - rest.size());
  return out;
}

std::vector<std::uint8_t> inflate_whole(const std::filesystem::path& file,
                                        std::string_view what,
                                        Bytes packed,
                                        std::uint64_t size,
                                        DeflateForm form,
                                        InflateBudget& budget) {
  const auto fail = [&](std::string_view reason) {
    return read_error(file, fmt::format("{}: {}", what, reason));
  };
  if (size / kLargestRatio > packed.size() + 1) throw fail("its sizes contradict each other");
  if (!budget.take(size)) throw fail("it unpacks far beyond the size of the file");
  // One more byte shows data that go on.
  std::vector<std::uint8_t> out(size + 1);
  std::span<std::uint8_t> rest(out);
  Stream stream(form);
  if (!stream.read(packed, rest)) throw fail("its compressed data are damaged");
  if (!stream.ended() || rest.size() != 1 || !packed.empty()) {
    throw fail("its compressed data are cut short or go on");
  }
  out.resize(size);
  return out;
}

std::uint32_t crc32_of(Bytes bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, bytes.data(), bytes.size()));
}

}  // namespace ria
