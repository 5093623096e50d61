// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <filesystem>
#include <string>

namespace ria {

/// How a file's name ends, in small letters.
inline std::string lower_extension(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

}  // namespace ria
