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
#include "weights/prefixes.h"
#include "weights/vgg_files.h"
#include "weights/vgg_names.h"
#include "weights/vit_names.h"

namespace ria {

namespace {

using Names = std::map<std::string, std::string>;

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

/// The torchvision name of a tensor of CosPlace's Sequential; empty if it has none.
std::string unnumbered(std::string_view name) {
  for (const auto& [number, word] : kNumbered) {
    if (name.starts_with(number))
      return std::string(word) + std::string(name.substr(number.size()));
  }
  return "";
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
  Names bare =
      names_behind_prefix(file, {"conv1.weight", "bn1.running_mean", "layer1.0.conv1.weight"});
  const bool numbered = bare.empty();
  if (numbered)
    bare = names_behind_prefix(file, {"0.weight", "1.running_mean", "4.0.conv1.weight"});
  Names names;
  for (const auto& [name, stored] : bare) {
    const std::string word = numbered ? unnumbered(name) : name;
    if (in_backbone(word)) names[word] = stored;
  }
  if (names.empty() || file.at(names.at("conv1.weight")).shape.size() != 4) return {};
  return names;
}

std::string infer_architecture(const TensorFile& file) {
  if (const Names vit = canonical_vit_names(file); !vit.empty()) {
    return vit_architecture(vit_shape(file, vit));
  }
  const Names names =
      is_keras_resnet(file) ? keras_resnet_names(file) : canonical_resnet_names(file);
  const std::optional<Shape> shape = shape_of(names);
  if (!shape) {
    const std::string vgg = vgg_name(vgg_convolutions(torchvision_vgg(file)));
    return vgg.empty() ? "unknown" : vgg;
  }
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

std::string describe_architecture(const TensorFile& file) {
  const std::string name = infer_architecture(file);
  const Names vit = canonical_vit_names(file);
  const bool adapted = !vit.empty() && vit_shape(file, vit).adapter > 0;
  return adapted ? name + " with adapters" : name;
}

}  // namespace ria
