// SPDX-License-Identifier: MIT
// Networks that the test exports itself, run by ONNX Runtime beside the native engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "method/random_weights.h"
#include "pipeline/maker.h"
#include "ria/recognizer.h"
#include "support/error_message.h"
#include "support/onnx_networks.h"
#include "support/random_network.h"
#include "support/sample_images.h"
#include "support/spill.h"
#include "support/temporary_folder.h"

namespace ria {
namespace {

using Shape = OnnxGraph::Shape;

class Onnx : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(RIA_BINARY_DIR "/libria-onnx.so")) {
      GTEST_SKIP() << "ria was configured without ONNX Runtime (ONNXRuntime_ROOT)";
    }
  }

  std::string written(const OnnxGraph& graph, const std::string& name = "net.onnx") const {
    return spill(folder_ / name, graph.model()).string();
  }

  /// Patches of 4x4 pixels, each with the mean of 4 mixtures of its colours.
  static void add_patches(OnnxGraph& graph, const std::string& picture, float scale = 1) {
    std::vector<float> weight(4 * 3 * 16);
    for (std::size_t i = 0; i < weight.size(); ++i) {
      weight[i] = scale * std::sin(static_cast<float>(i / 16 + 1));
    }
    const OnnxGraph::Attributes window{{"kernel_shape", Shape{4, 4}}, {"strides", Shape{4, 4}}};
    graph.node("Conv", {picture, graph.constant({4, 3, 4, 4}, weight)}, window, "patches");
  }

  static OnnxGraph patches(const Shape& input, const Shape& output, float scale = 1) {
    OnnxGraph graph;
    add_patches(graph, graph.input("picture", input), scale);
    graph.output("patches", output);
    return graph;
  }

  static MethodOptions of_file(const std::string& file) {
    MethodOptions options;
    options.backbone.weights = file;
    return options;
  }

  static Descriptor described(const std::string& method, const MethodOptions& options) {
    return Recognizer(method, options).describe(noise(60, 80));
  }

  static std::string refusal(const std::string& method, const MethodOptions& options) {
    const std::string text = message_of([&] { described(method, options); });
    EXPECT_EQ(text.find('\n'), text.npos) << text;
    return text;
  }

  static float difference(const Descriptor& a, const Descriptor& b) {
    EXPECT_EQ(a.size(), b.size());
    float most = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      most = std::max(most, std::abs(a[i] - b[i]));
    }
    return most;
  }

  static Descriptor native(const std::string& method,
                           const MethodOptions& options,
                           const TensorFile& weights,
                           const Image& picture) {
    return RecognizerMaker::from_tensors({&find_method(method), options}, weights)
        ->describe(picture);
  }

  const TemporaryFolder folder_;
};

TEST_F(Onnx, ResNet50GivesTheNativeDescriptors) {
  const TensorFile weights = random_backbone("resnet50");
  OnnxGraph graph;
  const std::string map =
      OnnxResNet50(graph, weights).layer3(graph.input("picture", {1, 3, -1, -1}));
  graph.output(map, {1, 1024, -1, -1});
  const std::string pooled = graph.node("GlobalAveragePool", {map});
  graph.output(graph.node("Flatten", {pooled}, {}, "pooled"), {1, 1024});
  MethodOptions options;
  options.image_height = 96;
  options.image_width = 128;
  MethodOptions onnx = options;
  onnx.backbone.weights = written(graph);
  onnx.backbone.onnx.onnx_output = map;
  const Image picture = noise(120, 160);
  for (const std::string head : {"ria", "gem"}) {
    const Descriptor expected = native("resnet50-" + head, options, weights, picture);
    EXPECT_LT(difference(Recognizer("onnx-" + head, onnx).describe(picture), expected), 1e-4f);
  }
  onnx.backbone.onnx.onnx_output = "pooled";
  options.gem.normalize_patches = false;
  EXPECT_LT(difference(Recognizer("onnx", onnx).describe(picture),
                       native("resnet50-mean", options, weights, picture)),
            1e-4f);
}

TEST_F(Onnx, TransformersGiveTheNativeDescriptors) {
  for (const int registers : {0, 4}) {
    const RandomNetwork network(0, false, true, registers);
    const TensorFile weights = network.file();
    const auto tensor = [&](const std::string& name) {
      return weights.at(RandomNetwork::stored(name));
    };
    OnnxGraph graph;
    const int side = kGrid * kPatch;
    const std::string picture = graph.input("picture", {1, 3, side, side});
    const std::string tokens = OnnxVit(graph, tensor, kDepth, registers).tokens(picture);
    graph.output(tokens, {1, 1 + registers + kGrid * kGrid, kDim});
    MethodOptions options;
    options.ria.d = 8;
    MethodOptions onnx = options;
    onnx.backbone.weights = written(graph);
    options.image_height = options.image_width = side;
    options.backbone.final_norm = true;
    const Image seen = noise(60, 80);
    const Descriptor expected = native("dinov2-any-ria", options, weights, seen);
    const Recognizer recognizer("onnx", onnx);  // patches: RIA
    EXPECT_EQ(recognizer.method().name, "onnx-ria");
    EXPECT_LT(difference(recognizer.describe(seen), expected), 1e-4f);
    const Pixels pixels = preprocess(seen, recognizer.preprocessing());
    const PatchFeatures features = recognizer.backbone().extract(pixels);
    EXPECT_EQ(features.grid_height, kGrid);
    EXPECT_EQ(features.grid_width, kGrid);
    EXPECT_EQ(features.class_token.size(), static_cast<std::size_t>(kDim));
    onnx.backbone.onnx.onnx_leading_tokens = 0;  // the leading ones are patches like the others
    EXPECT_GT(difference(Recognizer("onnx", onnx).describe(seen), expected), 1e-3f);
  }
}

TEST_F(Onnx, TheIndexSaysAllThatAQueryNeeds) {
  const auto network = [](float scale) {
    OnnxGraph graph = patches({1, 3, -1, -1}, {1, 4, -1, -1}, scale);
    graph.output(graph.node("Neg", {"patches"}, {}, "negative"), {1, 4, -1, -1});
    return graph;
  };
  MethodOptions options = of_file(written(network(1)));
  options.backbone.onnx.onnx_output = "negative";
  options.backbone.onnx.onnx_normalization = "signed";
  options.backbone.onnx.onnx_multiple = 8;
  options.longest_side = 64;
  options.gem.sign = GemSign::kPreserve;
  const Recognizer recognizer("onnx-gem", options);
  Map map(recognizer.header());
  const std::string recorded = map.header().options;
  for (const char* part : {R"("onnx_output":"negative")",
                           R"("onnx_normalization":"signed")",
                           R"("onnx_multiple":8)",
                           R"("longest_side":64)"}) {
    EXPECT_TRUE(contains(recorded, part)) << recorded;
  }
  EXPECT_FALSE(map.header().weights_sha256.empty());
  BackboneOptions file;
  file.weights = options.backbone.weights;
  const Image picture = noise(60, 80);
  EXPECT_EQ(Recognizer(map, file).describe(picture), recognizer.describe(picture));
  options.backbone.onnx.onnx_normalization = "raw";
  EXPECT_NE(Recognizer("onnx-gem", options).describe(picture), recognizer.describe(picture));
  EXPECT_TRUE(contains(message_of([&] { Recognizer{map}; }), "weights are needed"));
  file.weights = written(network(2), "other.onnx");
  EXPECT_TRUE(contains(message_of([&] { Recognizer(map, file); }), "these are "));
}

TEST_F(Onnx, NamesCarryTheFile) {
  const std::string file = written(patches({1, 3, 64, 64}, {1, 4, 16, 16}));
  MethodOptions options = of_file(file);
  EXPECT_EQ(described("onnx-gem:" + file, {}), described("onnx-gem", options));
  options.gem.p = 5;
  EXPECT_EQ(described("onnx-gem:" + file + ",p=5", {}), described("onnx-gem", options));
  EXPECT_EQ(method_name("", "ONNX:Net.onnx", "gem", 0), "onnx-gem:Net.onnx");
  EXPECT_EQ(method_name("", "onnx:net.onnx", "", 0), "onnx:net.onnx");
  EXPECT_EQ(method_name("", "onnx:net.onnx", "ria", 8256), "onnx-ria:net.onnx,d=128");
  EXPECT_EQ(method_name("onnx:net.onnx", "", "", 0), "onnx:net.onnx");
  EXPECT_EQ(method_name("", "resnet:a.pth", "", 0), "resnet-any-ria:a.pth");
  EXPECT_TRUE(contains(message_of([] { choose_method("onnx-gem:a.onnx,b.onnx"); }),
                       "'b.onnx' is not an option as key=value"));
  EXPECT_TRUE(contains(refusal("onnx", {}), "weights are needed, the .onnx file"));
}

TEST_F(Onnx, ChannelsMayComeLast) {
  OnnxGraph last;
  const std::string picture = last.input("picture", {1, 64, 64, 3});
  add_patches(last, last.node("Transpose", {picture}, {{"perm", Shape{0, 3, 1, 2}}}));
  last.node("Transpose", {"patches"}, {{"perm", Shape{0, 2, 3, 1}}}, "rows");
  last.output("rows", {1, 16, 16, 4});
  const MethodOptions first = of_file(written(patches({1, 3, 64, 64}, {1, 4, 16, 16})));
  EXPECT_EQ(described("onnx-gem", of_file(written(last, "last.onnx"))),
            described("onnx-gem", first));
}

TEST_F(Onnx, ThreadsChangeNothing) {
  const Recognizer recognizer("onnx-gem",
                              of_file(written(patches({1, 3, 64, 64}, {1, 4, 16, 16}))));
  const Image picture = noise(60, 80);
  set_thread_cores(1);
  const Descriptor alone = recognizer.describe(picture);
  set_thread_cores(2);
  const Descriptor both = recognizer.describe(picture);
  set_thread_cores(0);
  EXPECT_LT(difference(alone, both), 1e-6f);
}

TEST_F(Onnx, OpenAxesMustBeToldASize) {
  const std::string file = written(patches({1, 3, -1, -1}, {1, 4, -1, -1}));
  MethodOptions options = of_file(file);
  EXPECT_EQ(
      refusal("onnx-gem", options),
      file + " reads pictures of any size: image_size, longest_side or native_size must be told");
  options.longest_side = 40;
  EXPECT_NO_THROW(described("onnx-gem", options));
  options.longest_side = 3;  // less than a patch: what ONNX Runtime says, in one line
  EXPECT_TRUE(contains(refusal("onnx-gem", options), file + ": "));
}

TEST_F(Onnx, AWrongSizeIsRefused) {
  const std::string file = written(patches({1, 3, 64, 96}, {1, 4, 16, 24}));
  MethodOptions options = of_file(file);
  options.image_height = options.image_width = 64;
  EXPECT_EQ(refusal("onnx-gem", options),
            file + " reads pictures of 64x96 pixels: image_size 64 96 or none was expected");
  options.image_width = 96;
  EXPECT_NO_THROW(described("onnx-gem", options));
  const auto backbone = make_backbone("onnx", of_file(file).backbone);
  EXPECT_EQ(message_of([&] {
              backbone->extract(Pixels{64, 64, std::vector<float>(3 * 64 * 64)});
            }),
            file + " reads pictures [1,3,64,96], this one has 64x64 pixels");
}

TEST_F(Onnx, DamagedFilesAreNamed) {
  const std::string whole = patches({1, 3, 64, 64}, {1, 4, 16, 16}).model();
  for (const std::string& bytes :
       {std::string(), whole.substr(0, whole.size() / 2), std::string(500, 'x')}) {
    const std::string file = spill(folder_ / "damaged.onnx", bytes).string();
    EXPECT_TRUE(refusal("onnx", of_file(file)).starts_with("cannot read " + file + ": "));
  }
  const std::string missing = (folder_ / "missing.onnx").string();
  EXPECT_TRUE(contains(refusal("onnx", of_file(missing)), missing));
}

TEST_F(Onnx, WhatIsNotFiniteIsRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string file = written(patches({1, 3, 64, 64}, {1, 4, 16, 16}, nan));
  EXPECT_EQ(refusal("onnx-gem", of_file(file)), file + ": output patches holds NaN or infinity");
}

TEST_F(Onnx, OutputsTypesAndPurposesMustFit) {
  OnnxGraph two = patches({1, 3, 64, 64}, {1, 4, 16, 16});
  two.output(two.node("ReduceMean",
                      {"patches"},
                      {{"axes", Shape{2, 3}}, {"keepdims", std::int64_t{0}}},
                      "mean"),
             {1, 4});
  const std::string file = written(two);
  MethodOptions options = of_file(file);
  EXPECT_EQ(refusal("onnx", options),
            file + " has 2 outputs (patches [1,4,16,16], mean [1,4]): onnx_output must name one");
  options.backbone.onnx.onnx_output = "mean";
  EXPECT_EQ(described("onnx", options).size(), 4u);
  EXPECT_EQ(refusal("onnx-gem", options),
            file + " gives a descriptor, no patches for gem: method onnx was expected");
  options.rerank = "patches";
  EXPECT_EQ(refusal("onnx", options), file + " gives a descriptor, no patches for rerank patches");

  OnnxGraph bytes;
  const std::string raw = bytes.input("picture", {1, 3, 64, 64}, OnnxGraph::kUint8);
  add_patches(bytes, bytes.node("Cast", {raw}, {{"to", std::int64_t{1}}}));
  bytes.output("patches", {1, 4, 16, 16});
  const std::string bytes_file = written(bytes, "bytes.onnx");
  EXPECT_EQ(refusal("onnx", of_file(bytes_file)),
            bytes_file + ": input picture is of uint8, float32 was expected");
  MethodOptions eight = of_file(file);
  eight.backbone.precision = Precision::kInt8;
  EXPECT_TRUE(contains(refusal("onnx", eight), "precision: an ONNX file has its own"));
}

TEST_F(Onnx, TensorsMayStandInAnotherFile) {
  OnnxGraph graph;
  const std::string picture = graph.input("picture", {1, 3, 64, 64});
  const std::string weight = graph.external({4, 3, 1, 1}, "net.data");
  graph.output(graph.node("Conv", {picture, weight}, {{"kernel_shape", Shape{1, 1}}}, "y"),
               {1, 4, 64, 64});
  const std::vector<float> values{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  spill(folder_ / "net.data", {reinterpret_cast<const char*>(values.data()), values.size() * 4});
  const MethodOptions options = of_file(written(graph));
  EXPECT_EQ(described("onnx-gem", options).size(), 4u);
  std::filesystem::remove(folder_ / "net.data");
  EXPECT_TRUE(contains(refusal("onnx-gem", options), "net.data"));
}

}  // namespace
}  // namespace ria
