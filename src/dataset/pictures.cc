// SPDX-License-Identifier: MIT
#include "dataset/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "dataset/natural_order.h"
#include "ria/image.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

/// The file, or the same name with .png; empty if neither is there.
fs::path existing(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(file, ignored)) return file;
  fs::path other = file;
  other.replace_extension(".png");
  return fs::exists(other, ignored) ? other : fs::path();
}

/// The root below which most of some names spread over the list exist.
fs::path best_root(const std::vector<std::string>& names, const std::vector<fs::path>& roots) {
  constexpr std::size_t kSamples = 16;
  fs::path best = roots.front();
  std::size_t most = 0;
  for (const fs::path& root : roots) {
    std::size_t there = 0;
    for (std::size_t i = 0; i < std::min(kSamples, names.size()); ++i) {
      const std::size_t at = i * names.size() / std::min(kSamples, names.size());
      there += !existing(root / names[at]).empty();
    }
    if (there > most) {
      most = there;
      best = root;
    }
  }
  return best;
}

}  // namespace

std::vector<fs::path> pictures_in(const fs::path& folder) {
  std::vector<fs::path> pictures = list_pictures(folder);
  std::sort(pictures.begin(), pictures.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.native(), b.native());
  });
  return pictures;
}

std::vector<fs::path> listed_or_found(const fs::path& folder, bool natural) {
  fs::path list = folder.has_filename() ? folder : folder.parent_path();
  list += "_images_paths.txt";
  if (!fs::exists(list)) return natural ? pictures_in(folder) : list_pictures(folder);
  std::vector<fs::path> pictures;
  for (const std::string& line : read_lines(list)) pictures.push_back(folder / line);
  if (pictures.empty()) {
    throw std::runtime_error(fmt::format("{}: no pictures are listed", list.string()));
  }
  return pictures;
}

std::vector<std::string> read_lines(const fs::path& file) {
  const std::string text = read_text(file);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::vector<fs::path> find_listed(Loading& loading,
                                  const std::vector<std::string>& names,
                                  const std::vector<fs::path>& roots,
                                  const std::string& what) {
  if (names.empty()) return {};
  const fs::path root = best_root(names, roots);
  std::vector<fs::path> files, missing;
  for (const std::string& name : names) {
    const fs::path wanted = (root / name).lexically_normal();
    const fs::path found = existing(wanted);
    if (found.empty()) missing.push_back(wanted);
    files.push_back(found.empty() ? wanted : found);
  }
  if (missing.size() == names.size()) {
    throw std::runtime_error(fmt::format(
        "none of the {} listed {} is there, not even {}", names.size(), what, missing[0].string()));
  }
  if (!missing.empty()) {
    loading.problems.push_back(fmt::format("{} of {} listed {} are missing, the first is {}",
                                           missing.size(),
                                           names.size(),
                                           what,
                                           missing[0].string()));
    auto& all = loading.missing_pictures;
    all.insert(all.end(), missing.begin(), missing.end());
  }
  return files;
}

std::vector<fs::path> picture_roots(const Loading& loading, const std::vector<std::string>& below) {
  const fs::path& images = loading.options.images_folder;
  const fs::path top = images.empty() ? loading.folder : images;
  std::vector<fs::path> roots{top};
  for (const std::string& name : below) roots.push_back(top / name);
  if (images.empty()) roots.push_back(top.parent_path());
  return roots;
}

}  // namespace ria
