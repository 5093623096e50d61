// SPDX-License-Identifier: MIT
// What can be said about a picture file before it is decoded. The decoders fill what is missing
// with grey or complain on stderr, so bytes are checked first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ria {

enum class PictureFormat { kUnknown, kJpeg, kPng, kBmp, kTiff, kWebp, kPnm };

PictureFormat picture_format(std::span<const std::uint8_t> bytes);

/// Why the bytes are no whole picture of this format, to be read after "cannot read FILE: "; empty
/// if nothing is wrong with them, and for JPEG, whose decoder finds out.
std::string find_fault(std::span<const std::uint8_t> bytes, PictureFormat format);

/// A PNG without the chunks that do not change its pixels: libpng warns on stderr about faults in
/// colour profiles that nobody reads. Only for bytes without fault.
std::vector<std::uint8_t> bare_png(std::span<const std::uint8_t> bytes);

/// Marks unassociated alpha of a TIFF as associated: libtiff would multiply the colours by it. Only
/// for bytes without fault.
void keep_tiff_colours(std::span<std::uint8_t> bytes);

}  // namespace ria
