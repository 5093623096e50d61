// SPDX-License-Identifier: MIT
// Every network, file layout, input and cut that the case lists. A cut that is left out is not
// checked; an output that no network, input and cut leads to fails.
#include <gtest/gtest.h>

#include <set>

#include "backbone/resnet.h"
#include "golden/feature_rows.h"
#include "golden/golden.h"
#include "golden/keras_names.h"
#include "golden/pixels.h"
#include "weights/architecture.h"
#include "weights/keras_resnet.h"

namespace ria {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

class ResNetGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    RIA_NEEDS_GOLDEN("resnet");
    info_ = load_case("resnet");
    inputs_.emplace(TensorFile::open(folder_ / "inputs.safetensors"));
    outputs_.emplace(TensorFile::open(folder_ / "outputs.safetensors"));
  }

  TensorFile weights(const std::string& name) const {
    return TensorFile::open(folder_ / (name + "_torchvision.pth"));
  }

  /// Checks every place of the network that has a golden output; returns those outputs.
  std::set<std::string> check(const std::string& name, const TensorFile& file) const {
    std::set<std::string> reached;
    ConvPlan plan = plan_resnet(file, "layer4");
    std::map<int, std::string> places;
    for (const auto& [place, tensor] : plan.cuts) {
      if (place.find('.') == place.npos) places[tensor] = place;
    }
    std::vector<int> tensors;
    for (const auto& [tensor, place] : places) tensors.push_back(tensor);
    const ConvNet net(std::move(plan.steps), tensors);
    for (const std::string& size : inputs_->names()) {
      const auto maps = net.run(pixels_of(inputs_->at(size)));
      for (std::size_t i = 0; i < maps.size(); ++i) {
        const std::string key = name + "." + size + "." + places.at(tensors[i]);
        SCOPED_TRACE(file.path().filename().string() + " " + key);
        if (!outputs_->contains(key)) continue;
        expect_map(maps[i], outputs_->at(key), info_.at("tolerance").at(key));
        reached.insert(key);
      }
    }
    return reached;
  }

  const std::filesystem::path folder_ = golden_dir() / "resnet";
  nlohmann::json info_;
  std::optional<TensorFile> inputs_, outputs_;
};

TEST_F(ResNetGolden, EveryCutFromEveryLayout) {
  const std::vector<std::string> all = outputs_->names();
  for (const auto& [pattern, meaning] : info_.at("weights").items()) {
    std::set<std::string> reached;
    for (const auto& [name, config] : info_.at("config").items()) {
      reached.merge(check(name, TensorFile::open(folder_ / replaced(pattern, "<name>", name))));
    }
    EXPECT_EQ(reached, std::set<std::string>(all.begin(), all.end())) << "from " << pattern;
  }
}

/// "layer3.2.conv1.weight" -> "res4c_branch2a/kernel".
std::string keras_name(const std::string& name) {
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
  const std::string block{static_cast<char>(layer[5] + 1), static_cast<char>('a' + layer[7] - '0')};
  const std::string branch =
      layer.find("downsample") != layer.npos ? "1" : "2" + std::string(1, 'a' + layer.back() - '1');
  return (norm ? "bn" : "res") + block + "_branch" + branch + "/" + word;
}

TEST_F(ResNetGolden, KerasLayoutConverts) {
  const TensorFile torch = weights("bottleneck50");
  TensorMap keras;
  for (const auto& [name, tensor] : torch.tensors()) {
    if (name.ends_with("num_batches_tracked")) continue;
    const std::string target = keras_name(name);
    keras[target] = target.ends_with("/kernel") ? to_hwio(tensor) : tensor;
  }
  const TensorFile converted =
      convert_keras_resnet({"keras.safetensors", WeightFormat::safetensors, std::move(keras)});
  EXPECT_EQ(infer_architecture(converted), "resnet50");
  // The golden network is v1.5 with torchvision's eps: the tensors alone are under test.
  const TensorFile neutral("keras.safetensors", WeightFormat::safetensors, converted.tensors());
  EXPECT_EQ(check("bottleneck50", neutral).size(), outputs_->names().size() / 2);
}

TEST_F(ResNetGolden, CutAtABlockIsTheNetworkWithoutWhatFollows) {
  const TensorFile whole = weights("bottleneck50");
  for (const std::string block : {"layer3.2", "layer2.0", "layer4.1"}) {
    const int last = block.back() - '0';
    TensorMap kept;
    for (const auto& [name, tensor] : whole.tensors()) {
      const bool behind = name.starts_with(block.substr(0, 6)) && name[7] - '0' > last;
      if (!behind) kept[name] = tensor;
    }
    ASSERT_LT(kept.size(), whole.names().size());
    const TensorFile fewer("fewer.safetensors", WeightFormat::safetensors, kept);
    for (const std::string& size : inputs_->names()) {
      const Pixels pixels = pixels_of(inputs_->at(size));
      const FeatureMap cut = run_plan(plan_resnet(whole, block), pixels);
      EXPECT_EQ(cut.hwc, run_plan(plan_resnet(fewer, block.substr(0, 6)), pixels).hwc) << block;
      EXPECT_NE(cut.hwc, run_plan(plan_resnet(whole, block.substr(0, 6)), pixels).hwc) << block;
    }
  }
}

// Random weights have outliers that trained ones have not: the bound is a loose one.
TEST_F(ResNetGolden, Int8PointsTheSameWay) {
  for (const auto& [name, config] : info_.at("config").items()) {
    for (const std::string& size : inputs_->names()) {
      for (const std::string cut : {"layer1", "layer2", "layer3", "layer4"}) {
        const FeatureMap map = run_plan(
            plan_resnet(weights(name), cut), pixels_of(inputs_->at(size)), Precision::kInt8);
        const Tensor& expected = outputs_->at(name + "." + size + "." + cut);
        EXPECT_GE(cosine(rows_of(map), rows_of_nchw(expected, 0)), 0.995) << name << size << cut;
      }
    }
  }
}

}  // namespace
}  // namespace ria
