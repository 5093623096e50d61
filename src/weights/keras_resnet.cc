// SPDX-License-Identifier: MIT
#include "weights/keras_resnet.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "archive/bytes.h"
#include "weights/architecture.h"
#include "weights/keras.h"

namespace ria {

namespace {

/// "res4b_branch2c" or "bn4b_branch2c": stage 4, block "b", branch "2c".
struct Layer {
  int stage = 0;
  std::string block;
  std::string branch;
};

std::optional<Layer> parse_layer(std::string_view name) {
  for (const std::string_view prefix : {"res", "bn"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    const std::size_t branch = rest.find("_branch");
    if (branch == std::string_view::npos || branch < 2) continue;
    if (rest[0] < '2' || rest[0] > '9') continue;
    Layer layer{rest[0] - '0',
                std::string(rest.substr(1, branch - 1)),
                std::string(rest.substr(branch + 7))};
    const bool shortcut = layer.branch == "1";
    const bool main = layer.branch.size() == 2 && layer.branch[0] == '2' &&
                      layer.branch[1] >= 'a' && layer.branch[1] <= 'c';
    if (shortcut || main) return layer;
  }
  return std::nullopt;
}

/// Blocks are a, b, c ... in the 50-layer net and a, b1, b2 ... b10 in deeper ones.
struct BlockOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    if (a[0] != b[0]) return a[0] < b[0];
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

using Stages = std::map<int, std::set<std::string, BlockOrder>>;

Stages find_stages(const TensorFile& file) {
  Stages out;
  for (const auto& [name, tensor] : file.tensors()) {
    if (const auto layer = parse_layer(split_keras_name(name).first))
      out[layer->stage].insert(layer->block);
  }
  return out;
}

/// The torchvision name of the layer (without the variable); empty if it has none.
std::string layer_name(const std::string& layer, const Stages& stages) {
  if (layer == "conv1") return "conv1";
  if (layer == "bn_conv1") return "bn1";
  const auto parsed = parse_layer(layer);
  if (!parsed) return "";
  const auto& blocks = stages.at(parsed->stage);
  const auto index = std::distance(blocks.begin(), blocks.find(parsed->block));
  const std::string prefix = fmt::format("layer{}.{}.", parsed->stage - 1, index);
  const bool convolution = layer[0] == 'r';
  if (parsed->branch == "1") return prefix + (convolution ? "downsample.0" : "downsample.1");
  return fmt::format("{}{}{}", prefix, convolution ? "conv" : "bn", parsed->branch[1] - 'a' + 1);
}

const std::map<std::string, std::string> kVariables{{"kernel", "weight"},
                                                    {"gamma", "weight"},
                                                    {"beta", "bias"},
                                                    {"moving_mean", "running_mean"},
                                                    {"moving_variance", "running_var"}};

/// The convolution in front of a batch norm: bn2a_branch1 -> res2a_branch1.
std::string convolution_of(const std::string& norm) {
  return norm == "bn_conv1" ? "conv1" : "res" + norm.substr(2);
}

/// norm(x + b) with mean m equals norm(x) with mean m - b.
Tensor absorb_bias(const TensorFile& file, const std::string& mean_name) {
  const Tensor& mean = file.at(mean_name);
  const std::string bias_name = convolution_of(split_keras_name(mean_name).first) + "/bias";
  if (!file.contains(bias_name)) return mean;
  const Tensor& bias = file.at(bias_name);
  if (bias.shape != mean.shape) {
    throw read_error(
        file.path(),
        fmt::format("{} has {} values, {} has {}", bias_name, bias.size(), mean_name, mean.size()));
  }
  std::vector<float> values = mean.floats();
  const std::vector<float> shift = bias.floats();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= shift[i];
  return make_tensor(mean.shape, values);
}

}  // namespace

bool is_keras_resnet(const TensorFile& file) {
  return file.contains("conv1/kernel") && file.contains("bn_conv1/gamma") &&
         file.contains("res2a_branch2a/kernel");
}

std::map<std::string, std::string> keras_resnet_names(const TensorFile& file) {
  const Stages stages = find_stages(file);
  std::map<std::string, std::string> out;
  for (const auto& [name, tensor] : file.tensors()) {
    const auto [layer, variable] = split_keras_name(name);
    if (layer.starts_with("fc")) continue;
    const std::string canonical = layer_name(layer, stages);
    const bool convolution =
        canonical.find("bn") == std::string::npos && !canonical.ends_with("downsample.1");
    if (!canonical.empty() && convolution && variable == "bias") continue;
    const auto known = kVariables.find(variable);
    if (canonical.empty() || known == kVariables.end() || convolution != (variable == "kernel")) {
      throw read_error(file.path(),
                       fmt::format("tensor {} has no place in a Keras ResNet", printable(name)));
    }
    out[canonical + "." + known->second] = name;
  }
  return out;
}

TensorFile convert_keras_resnet(const TensorFile& file) {
  TensorMap tensors;
  for (const auto& [canonical, name] : keras_resnet_names(file)) {
    if (name.ends_with("/kernel")) {
      tensors[canonical] = keras_kernel_to_oihw(file, name);
    } else if (name.ends_with("/moving_mean")) {
      tensors[canonical] = absorb_bias(file, name);
    } else {
      tensors[canonical] = file.at(name);
    }
  }
  // These names belong to one published network, whose settings the tensors do not carry.
  Metadata metadata{{"architecture", infer_architecture(file)},
                    {"stride", "first"},
                    {"bn_eps", "0.001"},
                    {"normalization", "caffe"},
                    {"source", keras_source(file)}};
  return {file.path(), file.format(), std::move(tensors), std::move(metadata)};
}

}  // namespace ria
