// SPDX-License-Identifier: MIT
// One file a format, from bytes in memory to RGB and back. A decoder prints nothing, takes memory
// only for sizes it has checked, and accepts no damage that it or its library can see. It throws
// std::runtime_error with what is wrong, to be read after "cannot read FILE: ".
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ria/image.h"

namespace ria {

inline constexpr const char* kCutShort = "the picture is cut short";

/// A picture of more pixels than the reader wants.
struct PictureTooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// decode_image() of a picture from somebody who is not trusted: one of more than `max_pixels` is
/// refused by what its header says, before memory is taken for it. Throws PictureTooLarge then.
Image decode_image_within(std::uint64_t max_pixels,
                          std::span<const std::uint8_t> bytes,
                          const std::string& name,
                          const LoadOptions& options = {});

/// Throws unless there is at least one pixel and at most 2^30, or what decode_image_within() says.
void check_picture_size(std::uint64_t height, std::uint64_t width);
/// A black picture of a checked size.
Image blank_image(std::uint64_t height, std::uint64_t width);

/// Grey and CMYK (inverted, as Adobe writes it) are converted.
Image decode_jpeg(std::span<const std::uint8_t> bytes);
/// Alpha is left out; 16 bits lose their lower 8.
Image decode_png(std::span<const std::uint8_t> bytes);
/// Alpha is left out; of an animation the first picture.
Image decode_webp(std::span<const std::uint8_t> bytes);
/// Alpha is left out; of several pages the first. As stored, whatever the file says of orientation.
Image decode_tiff(std::span<const std::uint8_t> bytes);
Image decode_bmp(std::span<const std::uint8_t> bytes);
/// PBM, PGM and PPM, of digits and of bytes.
Image decode_pnm(std::span<const std::uint8_t> bytes);

/// Throw std::runtime_error with what the library says.
std::vector<std::uint8_t> write_jpeg(const Image& image, int quality);
std::vector<std::uint8_t> write_png(const Image& image);

}  // namespace ria
