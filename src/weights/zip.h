// SPDX-License-Identifier: MIT
// Members of a zip container that are stored, not compressed: all that torch.save writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace ria {

/// Name to bytes inside `bytes`. Checksums are not compared: torch may be told not to write them.
std::map<std::string, std::span<const std::uint8_t>> read_stored_zip(
    const std::filesystem::path& file, std::span<const std::uint8_t> bytes);

}  // namespace ria
