// SPDX-License-Identifier: MIT
// The files of the page, and openapi.json, as they were when the library was built.
#pragma once

#include <span>
#include <string_view>

namespace ria {

struct PageFile {
  std::string_view name;  ///< "index.html"
  std::string_view content;
};

/// Made by cmake/embed.cmake.
std::span<const PageFile> page_files();

}  // namespace ria
