// SPDX-License-Identifier: MIT
#include "weights/prefixes.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace ria {

namespace {

/// DataParallel and Lightning; the wrappers of the published systems; torchvision's VGG.
constexpr std::array<std::string_view, 13> kWords{"module.",
                                                  "model.",
                                                  "backbone.",
                                                  "encoder.",
                                                  "features.",
                                                  "dinov2.",
                                                  "dino.",
                                                  "dino_model.",
                                                  "net.",
                                                  "base_model.",
                                                  "base.",
                                                  "teacher.",
                                                  "student."};

bool is_prefix(std::string_view text) {
  while (!text.empty()) {
    const auto word = std::find_if(kWords.begin(), kWords.end(), [&](std::string_view known) {
      return text.starts_with(known);
    });
    if (word == kWords.end()) return false;
    text.remove_prefix(word->size());
  }
  return true;
}

/// What stands in front of `probe` wherever the file has it, shortest first.
std::set<std::pair<std::size_t, std::string>> prefixes_of(const TensorFile& file,
                                                          const std::string& probe) {
  std::set<std::pair<std::size_t, std::string>> found;
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.ends_with(probe)) continue;
    const std::string prefix = name.substr(0, name.size() - probe.size());
    if (is_prefix(prefix)) found.emplace(prefix.size(), prefix);
  }
  return found;
}

}  // namespace

std::map<std::string, std::string> names_behind_prefix(const TensorFile& file,
                                                       const std::vector<std::string>& probes) {
  if (probes.empty()) return {};
  for (const auto& [length, prefix] : prefixes_of(file, probes.front())) {
    const bool whole = std::all_of(probes.begin(), probes.end(), [&](const std::string& probe) {
      return file.contains(prefix + probe);
    });
    if (!whole) continue;
    std::map<std::string, std::string> names;
    for (const auto& [name, tensor] : file.tensors()) {
      if (name.starts_with(prefix)) names[name.substr(length)] = name;
    }
    return names;
  }
  return {};
}

}  // namespace ria
