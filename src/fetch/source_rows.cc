// SPDX-License-Identifier: MIT
#include "fetch/source_rows.h"

#include <fmt/format.h>

#include <utility>

namespace ria {

WeightSource fetched(std::string name,
                     std::string architecture,
                     std::string page,
                     std::string url,
                     std::string licence,
                     std::uint64_t bytes,
                     std::string published_sha256) {
  std::string command = "ria weights get " + name;
  return {.name = std::move(name),
          .architecture = std::move(architecture),
          .source = std::move(page),
          .url = std::move(url),
          .licence = std::move(licence),
          .bytes = bytes,
          .published_sha256 = std::move(published_sha256),
          .sha256 = "",
          .how_to_add = std::move(command)};
}

WeightSource visited(std::string name,
                     std::string architecture,
                     const std::string& page,
                     const std::string& file,
                     std::string licence) {
  std::string command = fmt::format("ria weights add '{}' --name {}", file, name);
  return {.name = std::move(name),
          .architecture = std::move(architecture),
          .source = page + " (Google Drive)",
          .url = "",
          .licence = std::move(licence),
          .bytes = 0,
          .published_sha256 = "",
          .sha256 = "",
          .how_to_add = std::move(command)};
}

}  // namespace ria
