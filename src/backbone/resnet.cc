// SPDX-License-Identifier: MIT
#include "backbone/resnet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "weights/architecture.h"
#include "weights/keras_resnet.h"

namespace ria {

namespace {

constexpr int kLayers = 4;

class ResNetBuilder {
 public:
  explicit ResNetBuilder(const TensorFile& file)
      : file_(file), net_(file, canonical_resnet_names(file)) {
    const auto it = file.metadata().find("stride");
    stride_first_ = it != file.metadata().end() && it->second == "first";
    if (!net_.has("conv1.weight")) throw std::runtime_error(net_.path() + " holds no ResNet");
  }

  /// Stops at the cut, so that of what lies behind it only the first layer is read.
  ConvPlan build(const std::string& cut) {
    ConvPlan plan;
    const auto reached = [&](const std::string& place) {
      plan.cuts[place] = net_.last();
      return place == cut;
    };
    const auto walk = [&] {
      net_.add(net_.read("conv1", "bn1", 2, 3), 0, -1, true);
      net_.add_max_pool(3, 2, 1);
      next_ = block_behind(1, 0);
      if (reached("stem")) return true;
      for (int layer = 1; layer <= kLayers && has_block(layer, 0); ++layer) {
        int block = 0;
        bool found = false;
        for (; has_block(layer, block) && !found; ++block) {
          add_block(fmt::format("layer{}.{}.", layer, block), block == 0 && layer > 1 ? 2 : 1);
          found = reached(fmt::format("layer{}.{}", layer, block));
        }
        next_ = block_behind(layer, block);
        if (found || reached(fmt::format("layer{}", layer))) return true;
      }
      return false;
    };
    if (!possible(cut) || !walk()) refuse_cut(cut, file_, possible_cuts());
    plan.output = net_.last();
    if (!next_.empty()) plan.reading = net_.reading(next_ + "conv1", next_ + "bn1");
    plan.steps = std::move(net_.steps());
    return plan;
  }

 private:
  bool has_block(int layer, int block) const {
    return net_.has(fmt::format("layer{}.{}.conv1.weight", layer, block));
  }

  /// The block at this place or, behind the last of a layer, the next layer's first; empty: none.
  std::string block_behind(int layer, int block) const {
    for (const std::string& name :
         {fmt::format("layer{}.{}.", layer, block), fmt::format("layer{}.0.", layer + 1)}) {
      if (net_.has(name + "conv1.weight") && net_.has(name + "bn1.running_var")) return name;
    }
    return "";
  }

  /// Told from the names alone: a wrong cut is refused before the weights are read.
  bool possible(const std::string& cut) const {
    return cut == "stem" || net_.has(cut + ".0.conv1.weight") || net_.has(cut + ".conv1.weight");
  }

  std::string possible_cuts() const {
    std::vector<std::string> cuts{"stem"}, blocks;
    for (int layer = 1; layer <= kLayers && has_block(layer, 0); ++layer) {
      int count = 0;
      while (has_block(layer, count)) ++count;
      cuts.push_back(fmt::format("layer{}", layer));
      blocks.push_back(fmt::format("layer{0}.0 to layer{0}.{1}", layer, count - 1));
    }
    return fmt::format("{} or a block ({})", fmt::join(cuts, ", "), fmt::join(blocks, ", "));
  }

  /// A residual block: the shortcut first, so that the last convolution can add to it in place.
  void add_block(const std::string& name, int stride) {
    const int input = net_.last();
    const bool bottleneck = net_.has(name + "conv3.weight");
    int shortcut = input;
    if (net_.has(name + "downsample.0.weight")) {
      net_.add(
          net_.read(name + "downsample.0", name + "downsample.1", stride, 0), input, -1, false);
      shortcut = net_.last();
    } else if (stride != 1) {
      throw std::runtime_error(fmt::format("{}: {}downsample is missing", net_.path(), name));
    }
    const int first = !bottleneck || stride_first_ ? stride : 1;
    net_.add(net_.read(name + "conv1", name + "bn1", first, bottleneck ? 0 : 1), input, -1, true);
    net_.add(net_.read(name + "conv2", name + "bn2", stride / first, 1),
             net_.last(),
             bottleneck ? -1 : shortcut,
             true);
    if (bottleneck)
      net_.add(net_.read(name + "conv3", name + "bn3", 1, 0), net_.last(), shortcut, true);
  }

  const TensorFile& file_;
  ConvBuilder net_;
  std::string next_;  // block behind what was built, with a dot
  bool stride_first_ = false;
};

}  // namespace

ConvPlan plan_resnet(const TensorFile& file, const std::string& cut) {
  return ResNetBuilder(file).build(cut);
}

std::unique_ptr<Backbone> make_resnet(const BackboneWeights& weights,
                                      const BackboneOptions& options) {
  if (is_keras_resnet(weights.file)) {
    return make_resnet({weights.name, convert_keras_resnet(weights.file), weights.sha256}, options);
  }
  return make_conv_backbone(weights, plan_resnet(weights.file, options.cut), options);
}

}  // namespace ria
