// SPDX-License-Identifier: MIT
// Which way up a camera was held: EXIF's orientation, 1 (upright) to 8.
#pragma once

#include <cstdint>
#include <span>

#include "image/format.h"
#include "ria/image.h"

namespace ria {

/// What the file says; 1 where it says nothing or nothing that can be understood.
int find_orientation(std::span<const std::uint8_t> file, PictureFormat format);

/// The picture as it is to be seen.
Image upright(Image image, int orientation);

}  // namespace ria
