// SPDX-License-Identifier: MIT
#include "weights/architecture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "weights/keras_resnet.h"

namespace ria {

namespace {

using Names = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 8> kPrefixes{"",
                                                    "module.",
                                                    "backbone.model.",
                                                    "module.backbone.model.",
                                                    "backbone.",
                                                    "module.backbone.",
                                                    "model.",
                                                    "module.model."};

/// CosPlace keeps the children of a torchvision ResNet in a Sequential: relu and maxpool are 2, 3.
constexpr std::array<std::array<std::string_view, 2>, 6> kNumbered{{{"0.", "conv1."},
                                                                    {"1.", "bn1."},
                                                                    {"4.", "layer1."},
                                                                    {"5.", "layer2."},
                                                                    {"6.", "layer3."},
                                                                    {"7.", "layer4."}}};

bool in_backbone(std::string_view name) {
  if (name.starts_with("conv1.") || name.starts_with("bn1.")) return true;
  return name.starts_with("layer") && name.size() > 6 && name[5] >= '1' && name[5] <= '4' &&
         name[6] == '.';
}

std::string canonical(std::string_view name, bool numbered) {
  if (!numbered) return std::string(name);
  for (const auto& [number, word] : kNumbered) {
    if (name.starts_with(number))
      return std::string(word) + std::string(name.substr(number.size()));
  }
  return "";
}

Names names_behind(const TensorFile& file, std::string_view prefix, bool numbered) {
  Names out;
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.starts_with(prefix)) continue;
    const std::string word = canonical(std::string_view(name).substr(prefix.size()), numbered);
    if (in_backbone(word)) out[word] = name;
  }
  const auto stem = out.find("conv1.weight");
  const bool whole = stem != out.end() && out.count("bn1.running_mean") != 0 &&
                     out.count("layer1.0.conv1.weight") != 0 &&
                     file.at(stem->second).shape.size() == 4;
  return whole ? out : Names{};
}

struct Shape {
  bool bottleneck = false;
  std::vector<std::size_t> blocks;  // of each stage
};

std::optional<Shape> shape_of(const Names& names) {
  if (names.count("layer1.0.conv1.weight") == 0) return std::nullopt;
  std::map<int, std::set<int>> stages;
  for (const auto& [name, stored] : names) {
    if (!name.starts_with("layer")) continue;
    int block = 0;
    const auto parsed = std::from_chars(name.data() + 7, name.data() + name.size(), block);
    if (parsed.ec == std::errc()) stages[name[5] - '0'].insert(block);
  }
  Shape out;
  out.bottleneck = names.count("layer1.0.conv3.weight") != 0;
  for (const auto& [stage, blocks] : stages) out.blocks.push_back(blocks.size());
  return out;
}

struct Published {
  std::string_view name;
  bool bottleneck;
  std::array<std::size_t, 4> blocks;
};

constexpr std::array<Published, 5> kPublished{{{"resnet18", false, {2, 2, 2, 2}},
                                               {"resnet34", false, {3, 4, 6, 3}},
                                               {"resnet50", true, {3, 4, 6, 3}},
                                               {"resnet101", true, {3, 4, 23, 3}},
                                               {"resnet152", true, {3, 8, 36, 3}}}};

}  // namespace

Names canonical_resnet_names(const TensorFile& file) {
  for (const bool numbered : {false, true}) {
    for (const std::string_view prefix : kPrefixes) {
      Names names = names_behind(file, prefix, numbered);
      if (!names.empty()) return names;
    }
  }
  return {};
}

std::string infer_architecture(const TensorFile& file) {
  const Names names =
      is_keras_resnet(file) ? keras_resnet_names(file) : canonical_resnet_names(file);
  const std::optional<Shape> shape = shape_of(names);
  if (!shape) return "unknown";
  for (const Published& row : kPublished) {
    const std::size_t stages = shape->blocks.size();
    // Three stages still tell them apart: place recognition often drops the fourth.
    if (row.bottleneck == shape->bottleneck && (stages == 3 || stages == 4) &&
        std::equal(shape->blocks.begin(), shape->blocks.end(), row.blocks.begin())) {
      return std::string(row.name);
    }
  }
  return "resnet";
}

}  // namespace ria
