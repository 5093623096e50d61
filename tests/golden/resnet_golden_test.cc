// SPDX-License-Identifier: MIT
// Every network, file layout, input and cut that the case lists. An output that no network, input
// and cut leads to fails.
#include <fmt/format.h>

#include <regex>
#include <set>

#include "backbone/resnet.h"
#include "golden/feature_rows.h"
#include "golden/keras_names.h"
#include "golden/resnet_case.h"
#include "weights/architecture.h"
#include "weights/keras_resnet.h"

namespace ria {
namespace {

using Names = std::set<std::string>;

class ResNetGolden : public GoldenCaseTest {
 protected:
  ResNetGolden() : GoldenCaseTest("resnet") {}

  std::vector<TensorFile> files(const std::string& network) const {
    return resnet_files(golden(), network);
  }

  /// A network under torchvision's names.
  TensorFile torchvision(const std::string& network) const {
    const TensorFile file = files(network).at(0);
    TensorMap tensors;
    for (const auto& [name, stored] : canonical_resnet_names(file)) {
      tensors[name] = file.at(stored);
    }
    return {file.path(), file.format(), std::move(tensors)};
  }

  Names outputs_of(const std::string& network) const {
    Names names;
    for (const std::string& name : golden().outputs().names()) {
      if (name.starts_with(network + ".")) names.insert(name);
    }
    return names;
  }

  /// Checks every place of the network that has a golden output; returns those outputs.
  Names check(const std::string& name, const TensorFile& file) const {
    Names reached;
    ConvPlan plan = plan_resnet(file, "layer4");
    std::map<int, std::string> places;
    for (const auto& [place, tensor] : plan.cuts) {
      if (place.find('.') == place.npos) places[tensor] = place;
    }
    std::vector<int> tensors;
    for (const auto& [tensor, place] : places) tensors.push_back(tensor);
    const ConvNet net(std::move(plan.steps), tensors);
    for (const auto& [size, images] : golden().inputs().tensors()) {
      for (std::int64_t b = 0; b < images.shape.at(0); ++b) {
        const auto maps = net.run(pixels_of(images, b));
        for (std::size_t i = 0; i < maps.size(); ++i) {
          const std::string key = name + "." + size + "." + places.at(tensors[i]);
          SCOPED_TRACE(file.path().filename().string() + " " + key);
          if (!golden().outputs().contains(key)) continue;
          expect_map(maps[i], output(key), b, atol(key));
          reached.insert(key);
        }
      }
    }
    return reached;
  }
};

TEST_F(ResNetGolden, EveryCutFromEveryLayout) {
  Names known;
  for (const auto& [name, network] : config().items()) {
    const Names expected = outputs_of(name);
    known.insert(expected.begin(), expected.end());
    if (files(name).empty()) leave_out("weights of " + name);
    for (const TensorFile& file : files(name)) {
      EXPECT_EQ(infer_architecture(file), resnet_architecture(network)) << file.path();
      EXPECT_EQ(check(name, file), expected) << file.path();
    }
  }
  const std::vector<std::string> all = golden().outputs().names();
  EXPECT_EQ(known, Names(all.begin(), all.end()));
}

/// Blocks are a, b, c ..., but a, b1, b2 ... in the long stages of the deeper networks.
std::string keras_block(int block, int blocks) {
  if (blocks <= 6 || block == 0) return std::string(1, static_cast<char>('a' + block));
  return "b" + std::to_string(block);
}

/// "layer3.2.conv1.weight" -> "res4c_branch2a/kernel".
std::string keras_name(const std::string& name, const std::vector<int>& layers) {
  const std::string variable = name.substr(name.rfind('.') + 1);
  const std::string layer = name.substr(0, name.rfind('.'));
  const bool norm = layer.find("bn") != layer.npos || layer.ends_with("downsample.1");
  const std::string word = !norm                        ? "kernel"
                           : variable == "weight"       ? "gamma"
                           : variable == "bias"         ? "beta"
                           : variable == "running_mean" ? "moving_mean"
                                                        : "moving_variance";
  if (layer == "conv1") return "conv1/" + word;
  if (layer == "bn1") return "bn_conv1/" + word;
  std::smatch match;
  std::regex_match(layer, match, std::regex("layer(\\d)\\.(\\d+)\\.(.+)"));
  const int stage = std::stoi(match[1]);
  const bool shortcut = match[3].str().starts_with("downsample");
  return fmt::format("{}{}{}_branch{}/{}",
                     norm ? "bn" : "res",
                     stage + 1,
                     keras_block(std::stoi(match[2]), layers.at(stage - 1)),
                     shortcut ? "1" : fmt::format("2{:c}", 'a' + layer.back() - '1'),
                     word);
}

// Keras publishes networks of bottlenecks only.
TEST_F(ResNetGolden, KerasLayoutConverts) {
  int checked = 0;
  for (const auto& [name, network] : config().items()) {
    if (network.at("block") != "Bottleneck" || files(name).empty()) continue;
    SCOPED_TRACE(name);
    TensorMap keras;
    for (const auto& [torch, tensor] : torchvision(name).tensors()) {
      if (torch.ends_with("num_batches_tracked")) continue;
      const std::string target = keras_name(torch, network.at("layers"));
      keras[target] = target.ends_with("/kernel") ? to_hwio(tensor) : tensor;
    }
    const TensorFile converted =
        convert_keras_resnet({"keras.safetensors", WeightFormat::safetensors, std::move(keras)});
    EXPECT_EQ(infer_architecture(converted), resnet_architecture(network));
    // The golden network is v1.5 with torchvision's eps: the tensors alone are under test.
    const TensorFile neutral("keras.safetensors", WeightFormat::safetensors, converted.tensors());
    EXPECT_EQ(check(name, neutral), outputs_of(name));
    ++checked;
  }
  if (checked == 0) leave_out("a network of bottlenecks");
}

// In the middle of each stage that has more than one block.
TEST_F(ResNetGolden, CutAtABlockIsTheNetworkWithoutWhatFollows) {
  for (const auto& [network, settings] : config().items()) {
    if (files(network).empty()) continue;
    const TensorFile whole = torchvision(network);
    const auto layers = settings.at("layers").get<std::vector<int>>();
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
      if (layers[stage] < 2) continue;
      const std::string layer = "layer" + std::to_string(stage + 1);
      const int last = (layers[stage] - 1) / 2;
      const std::string block = layer + "." + std::to_string(last);
      SCOPED_TRACE(network + " " + block);
      TensorMap kept;
      for (const auto& [name, tensor] : whole.tensors()) {
        const bool behind = name.starts_with(layer) && std::stoi(name.substr(7)) > last;
        if (!behind) kept[name] = tensor;
      }
      ASSERT_LT(kept.size(), whole.names().size());
      const TensorFile fewer("fewer.safetensors", WeightFormat::safetensors, kept);
      for (const auto& [size, images] : golden().inputs().tensors()) {
        const Pixels pixels = pixels_of(images);
        const FeatureMap cut = run_plan(plan_resnet(whole, block), pixels);
        EXPECT_EQ(cut.hwc, run_plan(plan_resnet(fewer, layer), pixels).hwc) << size;
        EXPECT_NE(cut.hwc, run_plan(plan_resnet(whole, layer), pixels).hwc) << size;
      }
    }
  }
}

// Random weights have outliers that trained ones have not: the bound is a loose one.
TEST_F(ResNetGolden, Int8PointsTheSameWay) {
  for (const auto& [name, network] : config().items()) {
    if (files(name).empty()) continue;
    const TensorFile file = torchvision(name);
    for (const auto& [size, images] : golden().inputs().tensors()) {
      for (const std::string cut : {"layer1", "layer2", "layer3", "layer4"}) {
        const std::string key = name + "." + size + "." + cut;
        if (!has_output(key)) continue;
        const FeatureMap map =
            run_plan(plan_resnet(file, cut), pixels_of(images), Precision::kInt8);
        EXPECT_GE(cosine(rows_of(map), rows_of_nchw(output(key), 0)), 0.995) << key;
      }
    }
  }
}

}  // namespace
}  // namespace ria
