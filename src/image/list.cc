// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "image/extension.h"
#include "ria/image.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

bool is_picture_name(const fs::path& file) {
  static constexpr std::array<std::string_view, 9> kEndings = {
      ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"};
  return std::find(kEndings.begin(), kEndings.end(), lower_extension(file)) != kEndings.end();
}

// Benchmarks are often linked together from several disks, so links to folders are followed, except
// to a folder that is being listed already.
void collect_pictures(const fs::path& folder,
                      std::vector<fs::path>& parents,
                      std::vector<fs::path>& pictures) {
  const fs::path self = fs::canonical(folder);
  if (std::find(parents.begin(), parents.end(), self) != parents.end()) return;
  parents.push_back(self);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code broken_link;
    if (entry.is_directory(broken_link)) {
      collect_pictures(entry.path(), parents, pictures);
    } else if (entry.is_regular_file(broken_link) && is_picture_name(entry.path())) {
      pictures.push_back(entry.path());
    }
  }
  parents.pop_back();
}

}  // namespace

std::vector<fs::path> list_pictures(const fs::path& folder_or_file) {
  if (!fs::exists(folder_or_file)) {
    throw std::runtime_error(fmt::format("there is no file or folder {}", folder_or_file.string()));
  }
  if (!fs::is_directory(folder_or_file)) return {folder_or_file};
  std::vector<fs::path> parents;
  std::vector<fs::path> pictures;
  collect_pictures(folder_or_file, parents, pictures);
  if (pictures.empty()) {
    throw std::runtime_error(
        fmt::format("there is no picture in folder {}", folder_or_file.string()));
  }
  // fs::path compares part by part; whole strings give the order of `sort` and of file lists.
  std::sort(pictures.begin(), pictures.end(), [](const fs::path& a, const fs::path& b) {
    return a.native() < b.native();
  });
  return pictures;
}

}  // namespace ria
