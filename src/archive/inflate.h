// SPDX-License-Identifier: MIT
// zlib's decompression with the size of the result bounded beforehand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace ria {

enum class DeflateForm {
  raw,   ///< members of a zip archive
  zlib,  ///< with header and checksum: elements of a .mat file
};

/// What may be unpacked from one file in all. A thousandfold bomb ends here; honest weights hardly
/// compress.
class InflateBudget {
 public:
  explicit InflateBudget(std::uint64_t file_size)
      : left_((std::uint64_t{1} << 30) + 4 * file_size) {}

  /// False, and nothing is taken, if `size` exceeds what is left.
  bool take(std::uint64_t size) {
    if (size > left_) return false;
    left_ -= size;
    return true;
  }

 private:
  std::uint64_t left_;
};

/// The first `size` bytes or fewer; nothing if the data are damaged before that.
std::optional<std::vector<std::uint8_t>> inflate_start(std::span<const std::uint8_t> packed,
                                                       std::size_t size,
                                                       DeflateForm form);

/// All of it, which must be `size` bytes exactly and use up `packed`; throws std::runtime_error
/// that begins with `what` ("zip member a").
std::vector<std::uint8_t> inflate_whole(const std::filesystem::path& file,
                                        std::string_view what,
                                        std::span<const std::uint8_t> packed,
                                        std::uint64_t size,
                                        DeflateForm form,
                                        InflateBudget& budget);

std::uint32_t crc32_of(std::span<const std::uint8_t> bytes);

}  // namespace ria
