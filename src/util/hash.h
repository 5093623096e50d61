// SPDX-License-Identifier: MIT
// sha256 in lower-case hexadecimal. (OpenSSL lives only in util/)
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace ria {

std::string sha256_file(const std::filesystem::path& file);
std::string sha256_bytes(std::span<const std::uint8_t> bytes);
std::string sha256_text(std::string_view text);

}  // namespace ria
