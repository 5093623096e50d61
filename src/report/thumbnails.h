// SPDX-License-Identifier: MIT
// Small pictures inside the page, each stored once however often it is shown.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ria {

class Thumbnails {
 public:
  /// Reads and shrinks the files on all cores; those that cannot be read become placeholders.
  explicit Thumbnails(std::vector<std::filesystem::path> files);

  /// The hidden element that holds the pictures; stands in the page before the first show().
  std::string definitions() const;

  /// The picture, or a box that says it could not be read. `description` is for screen readers.
  std::string show(const std::filesystem::path& file, const std::string& description) const;

 private:
  struct Thumbnail {
    int height = 0;  // of the file; 0: it could not be read
    int width = 0;
    std::string jpeg;  // base64
  };

  std::vector<Thumbnail> thumbnails_;
  std::map<std::filesystem::path, int> numbers_;  // into thumbnails_
};

}  // namespace ria
