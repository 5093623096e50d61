// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace ria {

/// file_sha256() with another way to hash one file.
std::string hash_weights(const std::filesystem::path& path,
                         const std::function<std::string(const std::filesystem::path&)>& hash_one);

}  // namespace ria
