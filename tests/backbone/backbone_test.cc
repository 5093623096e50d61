// SPDX-License-Identifier: MIT
// The table of backbones: which file a name accepts and where it may be cut.
#include "ria/backbone.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ria/method.h"
#include "ria/verify.h"
#include "support/cache_in.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "util/cpu.h"

namespace ria {
namespace {

class BackboneTable : public ::testing::Test {
 protected:
  static Tensor waves(std::vector<std::int64_t> shape) {
    std::size_t count = 1;
    for (const std::int64_t side : shape) count *= static_cast<std::size_t>(side);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(1 + 7 * i)) / 3;
    return make_tensor(std::move(shape), values);
  }
  static void add_norm(TensorMap& to, const std::string& name, std::int64_t channels) {
    const std::vector<float> ones(static_cast<std::size_t>(channels), 1.0f);
    to[name + ".weight"] = to[name + ".running_var"] = make_tensor({channels}, ones);
    to[name + ".bias"] = to[name + ".running_mean"] = waves({channels});
  }

  /// Basic blocks, four channels throughout.
  std::string resnet(const std::vector<int>& blocks) const {
    TensorMap tensors;
    tensors["conv1.weight"] = waves({4, 3, 7, 7});
    add_norm(tensors, "bn1", 4);
    for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
      for (int b = 0; b < blocks[layer]; ++b) {
        const std::string name =
            "layer" + std::to_string(layer + 1) + "." + std::to_string(b) + ".";
        for (const std::string n : {"1", "2"}) {
          tensors[name + "conv" + n + ".weight"] = waves({4, 4, 3, 3});
          add_norm(tensors, name + "bn" + n, 4);
        }
        if (b > 0 || layer == 0) continue;
        tensors[name + "downsample.0.weight"] = waves({4, 4, 1, 1});
        add_norm(tensors, name + "downsample.1", 4);
      }
    }
    return written("resnet.safetensors", tensors);
  }

  std::string vgg(const std::vector<int>& modules) const {
    TensorMap tensors;
    for (const int module : modules) {
      const std::string name = "features." + std::to_string(module);
      tensors[name + ".weight"] = waves({3, 3, 3, 3});
      tensors[name + ".bias"] = waves({3});
    }
    return written("vgg.safetensors", tensors);
  }

  std::string written(const std::string& name, const TensorMap& tensors) const {
    write_safetensors(folder_ / name, tensors, {});
    return (folder_ / name).string();
  }

  static BackboneOptions options(const std::string& weights, const std::string& cut = "") {
    BackboneOptions result;
    result.weights = weights;
    result.cut = cut;
    return result;
  }

  const TemporaryFolder folder_;
};

const std::vector<int> kVgg16{0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28};

TEST_F(BackboneTable, ANameTakesItsOwnNetworkOfAnyWidth) {
  const std::string file = resnet({2, 2, 2, 2});
  EXPECT_EQ(make_backbone("resnet18", options(file))->name(), "resnet18");
  EXPECT_EQ(make_backbone("resnet18", options(file))->dim(), 4);
  EXPECT_EQ(message_of([&] { make_backbone("resnet50", options(file)); }),
            file + " holds resnet18, resnet50 was expected");
  EXPECT_EQ(message_of([&] { make_backbone("vgg16", options(file)); }),
            file + " holds resnet18, vgg16 was expected");
  EXPECT_EQ(message_of([&] { make_backbone("vgg", options(file)); }),
            file + " holds resnet18, vgg was expected");
  const std::string vgg_file = vgg(kVgg16);
  EXPECT_EQ(make_backbone("vgg16", options(vgg_file))->dim(), 3);
  EXPECT_EQ(message_of([&] { make_backbone("resnet", options(vgg_file)); }),
            vgg_file + " holds vgg16, resnet was expected");
}

TEST_F(BackboneTable, AFamilyTakesAnyOfItsNetworksButNeedsAFile) {
  EXPECT_EQ(make_backbone("resnet", options(resnet({1, 3, 2})))->name(), "resnet");
  EXPECT_EQ(make_backbone("vgg", options(vgg({0, 3, 6, 8}), "pool3"))->name(), "vgg");
  for (const std::string family : {"resnet", "vgg"}) {
    EXPECT_THROW(make_backbone(family), std::invalid_argument);
    EXPECT_TRUE(contains(message_of([&] { make_backbone(family); }), "weights are needed"));
  }
}

TEST_F(BackboneTable, TheNextLayerReadsTheFeatures) {
  const std::string file = resnet({2, 2, 2, 2});
  const Matrix reading = make_backbone("resnet18", options(file))->reading();  // cut after layer3
  ASSERT_EQ(reading.rows(), 4 * 9);
  ASSERT_EQ(reading.cols(), 4);
  const std::vector<float> conv1 = waves({4, 4, 3, 3}).floats();
  for (int o = 0; o < 4; ++o) {
    for (int i = 0; i < 4; ++i) {
      for (int tap = 0; tap < 9; ++tap) {  // the norm has a variance of one
        ASSERT_NEAR(
            reading(o * 9 + tap, i), conv1[(o * 4 + i) * 9 + tap] / std::sqrt(1 + 1e-5), 1e-6);
      }
    }
  }
  for (const char* cut : {"stem", "layer1.0", "layer2.1", "layer3"}) {
    EXPECT_EQ(make_backbone("resnet18", options(file, cut))->reading().rows(), 36) << cut;
  }
  for (const char* cut : {"layer4", "layer4.1"}) {
    EXPECT_TRUE(make_backbone("resnet18", options(file, cut))->reading().empty()) << cut;
  }
  EXPECT_TRUE(make_backbone("resnet", options(resnet({1, 3, 2}), "layer3"))->reading().empty());
  EXPECT_TRUE(make_backbone("rootsift")->reading().empty());
}

TEST_F(BackboneTable, MissingWeightsAreNamedAsTheCacheNamesThem) {
  const CacheIn empty(folder_.path());
  for (const auto& [name, entry] :
       std::vector<std::pair<std::string, std::string>>{{"resnet18", "resnet18-torchvision"},
                                                        {"resnet50", "resnet50"},
                                                        {"resnet101", "resnet101-torchvision"},
                                                        {"resnet152", "resnet152-torchvision"},
                                                        {"vgg16", "vgg16-torchvision"}}) {
    EXPECT_TRUE(contains(message_of([&] { make_backbone(name); }), entry + ".safetensors"));
  }
}

TEST_F(BackboneTable, EveryCutHasItsStride) {
  const Pixels pixels{64, 96, std::vector<float>(3u * 64 * 96, 0.5f)};
  const std::string resnet_file = resnet({2, 2, 2, 2}), vgg_file = vgg(kVgg16);
  for (const auto& [cut, stride] : std::vector<std::pair<std::string, int>>{{"stem", 4},
                                                                            {"layer1", 4},
                                                                            {"layer2.0", 8},
                                                                            {"layer2", 8},
                                                                            {"", 16},
                                                                            {"layer4.1", 32}}) {
    const auto features = make_backbone("resnet18", options(resnet_file, cut))->extract(pixels);
    EXPECT_EQ(features.grid_height, 64 / stride) << cut;
    EXPECT_EQ(features.grid_width, 96 / stride) << cut;
  }
  for (const auto& [cut, stride] : std::vector<std::pair<std::string, int>>{
           {"conv1_1", 1}, {"relu1_2", 1}, {"pool1", 2}, {"9", 4}, {"", 16}, {"pool5", 32}}) {
    const auto features = make_backbone("vgg16", options(vgg_file, cut))->extract(pixels);
    EXPECT_EQ(features.grid_height, 64 / stride) << cut;
    EXPECT_EQ(features.grid_width, 96 / stride) << cut;
  }
}

TEST_F(BackboneTable, AnUnknownCutIsRefusedWithWhatIsPossible) {
  const std::string file = resnet({2, 3, 2, 2});
  for (const std::string cut :
       {"layer5", "layer3.2", "layer", "conv5_3", "4", "stem.0", "layer2.0.conv1", "layer1.0x"}) {
    EXPECT_THROW(make_backbone("resnet", options(file, cut)), std::invalid_argument) << cut;
  }
  const std::string text = message_of([&] { make_backbone("resnet", options(file, "layer3.2")); });
  EXPECT_EQ(text,
            "cut is 'layer3.2', for " + file +
                " stem, layer1, layer2, layer3, layer4 or a block (layer1.0 to layer1.1, layer2.0 "
                "to layer2.2, layer3.0 to layer3.1, layer4.0 to layer4.1) was expected");
  const std::string vgg_file = vgg(kVgg16);
  for (const std::string cut :
       {"layer3", "conv5_4", "conv1_0", "31", "-1", "pool6", "relu", "028"}) {
    EXPECT_THROW(make_backbone("vgg16", options(vgg_file, cut)), std::invalid_argument) << cut;
  }
  const std::string vgg_text =
      message_of([&] { make_backbone("vgg16", options(vgg_file, "conv6_1")); });
  EXPECT_TRUE(contains(vgg_text, "conv1_1, conv1_2, pool1")) << vgg_text;
  EXPECT_TRUE(contains(vgg_text, "conv5_3, pool5")) << vgg_text;
}

TEST_F(BackboneTable, CutAndPrecisionAreRecorded) {
  MethodOptions method;
  const Method& resnet50 = find_method("resnet50-ria");
  EXPECT_TRUE(contains(options_json(resnet50, method), R"("cut":"layer3")"));
  EXPECT_FALSE(contains(options_json(resnet50, method), "precision"));
  EXPECT_FALSE(contains(options_json(find_method("rootsift-ria"), method), "cut"));
  method.backbone.cut = "layer2.1";
  method.backbone.precision = Precision::kInt8;
  const std::string text = options_json(resnet50, method);
  EXPECT_TRUE(contains(text, R"("cut":"layer2.1")")) << text;
  const MethodOptions again = parse_options_json(text);
  EXPECT_EQ(again.backbone.cut, "layer2.1");
  EXPECT_EQ(again.backbone.precision, Precision::kInt8);
  EXPECT_EQ(options_json(resnet50, again), text);
}

TEST_F(BackboneTable, Bf16NeedsTheInstructions) {
  BackboneOptions wanted = options(resnet({2, 2, 2, 2}));
  wanted.precision = Precision::kBf16;
  if (!cpu_has_bf16()) {
    EXPECT_THROW(make_backbone("resnet18", wanted), std::invalid_argument);
    EXPECT_EQ(message_of([&] { make_backbone("resnet18", wanted); }),
              "precision bf16: this CPU has no bfloat16 instructions (use fp32 or int8)");
    return;
  }
  const Pixels pixels{64, 96, std::vector<float>(3u * 64 * 96, 0.5f)};
  const Matrix rounded = make_backbone("resnet18", wanted)->extract(pixels).patches;
  wanted.precision = Precision::kFp32;
  const Matrix exact = make_backbone("resnet18", wanted)->extract(pixels).patches;
  EXPECT_GE(cosine(exact.values(), rounded.values()), 0.995);
}

}  // namespace
}  // namespace ria
