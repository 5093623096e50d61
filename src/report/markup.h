// SPDX-License-Identifier: MIT
// Text and bytes as HTML and SVG can hold them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ria {

/// Safe between tags and inside quoted attributes.
std::string escape_markup(std::string_view text);

std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace ria
