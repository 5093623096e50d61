// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "ria/image.h"

namespace ria {

/// Decodes a JPEG as RGB; grey and CMYK (inverted, as Adobe writes it) are converted. Prints
/// nothing and accepts no damage that libjpeg can see. Throws std::runtime_error with what is
/// wrong, to be read after "cannot read FILE: ".
Image decode_jpeg(std::span<const std::uint8_t> bytes);

}  // namespace ria
