// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "ria/image.h"

namespace ria {

/// One line of black text with its middle at the point, as large as capitals of 36 pixels and no
/// wider than `most_width` pixels. Plain ASCII; what is none is drawn as '?'.
void draw_text(Image& image, std::string_view text, int middle_x, int middle_y, int most_width);

}  // namespace ria
