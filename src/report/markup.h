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

/// A method's or series' name, escaped, that may wrap after its punctuation; a very long one is
/// shortened in its middle and shown whole to a pointer.
std::string name_html(std::string_view name);

std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace ria
