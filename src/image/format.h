// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace ria {

enum class PictureFormat { kUnknown, kJpeg, kPng, kBmp, kTiff, kWebp, kPnm };

/// What the first bytes say, whatever the file's name.
PictureFormat picture_format(std::span<const std::uint8_t> bytes);

}  // namespace ria
