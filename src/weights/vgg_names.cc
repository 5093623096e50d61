// SPDX-License-Identifier: MIT
#include "weights/vgg_names.h"

#include <array>
#include <charconv>
#include <set>
#include <string_view>

#include "weights/prefixes.h"

namespace ria {

namespace {

using Names = std::map<std::string, std::string>;

bool is_kernel(const TensorFile& file, const std::string& name) {
  const std::vector<std::int64_t>& shape = file.at(name).shape;
  return shape.size() == 4 && shape[2] == 3 && shape[3] == 3;
}

/// The number of "features.28.weight"; -1 without.
int module_of(std::string_view name) {
  name.remove_prefix(std::string_view("features.").size());
  int number = -1;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  return parsed.ec == std::errc() && *parsed.ptr == '.' ? number : -1;
}

}  // namespace

Names canonical_vgg_names(const TensorFile& file) {
  // A convolution, its bias and, one ReLU or one batch norm and ReLU later, the second.
  Names bare = names_behind_prefix(file, {"0.weight", "0.bias", "2.weight"});
  if (bare.empty()) bare = names_behind_prefix(file, {"0.weight", "1.running_mean", "3.weight"});
  // VGG11 pools after the first.
  if (bare.empty()) bare = names_behind_prefix(file, {"0.weight", "0.bias", "3.weight"});
  Names names;
  for (const auto& [name, stored] : bare) {
    const std::string word = "features." + name;
    if (module_of(word) >= 0) names[word] = stored;
  }
  if (names.empty() || !is_kernel(file, names.at("features.0.weight"))) return {};
  return names;
}

std::vector<VggConvolution> vgg_convolutions(const TensorFile& file) {
  const Names names = canonical_vgg_names(file);
  std::set<int> modules;
  for (const auto& [name, stored] : names) {
    if (name.ends_with(".weight") && is_kernel(file, stored)) modules.insert(module_of(name));
  }
  std::vector<VggConvolution> out;
  for (const int module : modules) {
    VggConvolution conv;
    conv.module = module;
    conv.batch_norm = names.count("features." + std::to_string(module + 1) + ".running_mean") != 0;
    if (!out.empty()) {
      // Between two convolutions lie a ReLU, a batch norm if there is one, and perhaps a pool.
      const VggConvolution& before = out.back();
      const int between = module - before.module - (before.batch_norm ? 3 : 2);
      if (between != 0 && between != 1) return {};
      conv.block = before.block + between;
      conv.place = between == 0 ? before.place + 1 : 1;
    }
    out.push_back(conv);
  }
  return out;
}

std::string vgg_name(const std::vector<VggConvolution>& convolutions) {
  using Counts = std::array<int, 5>;
  Counts counts{};
  for (const VggConvolution& conv : convolutions) {
    if (conv.block > static_cast<int>(counts.size())) return "vgg";
    ++counts[conv.block - 1];
  }
  if (convolutions.empty()) return "";
  if (counts == Counts{1, 1, 2, 2, 2}) return "vgg11";
  if (counts == Counts{2, 2, 2, 2, 2}) return "vgg13";
  if (counts == Counts{2, 2, 3, 3, 3}) return "vgg16";
  if (counts == Counts{2, 2, 4, 4, 4}) return "vgg19";
  return "vgg";
}

}  // namespace ria
