// SPDX-License-Identifier: MIT
// What a place looks like: small pictures beside the map, or the originals in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "ria/image.h"

namespace ria {

class Pictures {
 public:
  /// `originals`: folder below which a place's name is its picture; empty: none.
  Pictures(const std::filesystem::path& map_file, std::filesystem::path originals);

  /// The thumbnail of a place that was added here is on the disk when this returns. Throws
  /// std::runtime_error.
  void keep(int place, const std::string& name, const Image& picture) const;
  void forget(int place, const std::string& name) const;

  bool has(int place, const std::string& name) const;
  /// A JPEG; nothing where there is no picture. An original is read with at most `max_pixels`.
  std::optional<std::string> find(int place,
                                  const std::string& name,
                                  std::uint64_t max_pixels) const;

 private:
  std::filesystem::path kept(int place, const std::string& name) const;
  /// Nothing where the name leads out of the folder.
  std::optional<std::filesystem::path> original(const std::string& name) const;

  std::filesystem::path folder_, originals_;
};

}  // namespace ria
