// SPDX-License-Identifier: MIT
// What is made of the shapes and metadata of an ONNX file. No ONNX Runtime is needed here.
#include "backbone/onnx_network.h"

#include <gtest/gtest.h>

#include "support/error_message.h"

namespace ria {
namespace {

using Shape = std::vector<std::int64_t>;

OnnxDescription network(const Shape& input, const Shape& output) {
  return {{{"picture", "float32", input}}, {{"features", "float32", output}}, {}};
}

OnnxNetwork read(const OnnxDescription& description, const OnnxOptions& options = {}) {
  return read_onnx_network("net.onnx", description, options);
}

std::string refusal(const OnnxDescription& description, const OnnxOptions& options = {}) {
  return message_of([&] { read(description, options); });
}

TEST(OnnxNetwork, LayoutAndSizeFollowFromTheInput) {
  const OnnxNetwork first = read(network({1, 3, 224, 320}, {1, 8, 7, 10}));
  EXPECT_FALSE(first.channels_last);
  EXPECT_EQ(first.preprocessing.height, 224);
  EXPECT_EQ(first.preprocessing.width, 320);
  EXPECT_EQ(first.dim(first.output.shape), 8);
  const OnnxNetwork last = read(network({-1, 224, 320, 3}, {-1, 7, 10, 8}));
  EXPECT_TRUE(last.channels_last);
  EXPECT_EQ(last.height, 224);
  EXPECT_EQ(last.width, 320);
  EXPECT_EQ(last.dim(last.output.shape), 8);
  EXPECT_EQ(read(network({1, 3, -1, -1}, {1, 8})).preprocessing.height, 0);
  EXPECT_TRUE(read(network({1, -1, -1, 3}, {1, 8})).channels_last);
  OnnxOptions told;
  told.onnx_layout = "nhwc";
  EXPECT_TRUE(read(network({1, -1, -1, -1}, {1, 8}), told).channels_last);
  EXPECT_TRUE(read(network({1, 3, 3, 3}, {1, 8}), told).channels_last);
}

TEST(OnnxNetwork, WhatIsNoPictureIsRefused) {
  EXPECT_EQ(
      refusal(network({1, -1, -1, -1}, {1, 8})),
      "net.onnx: input picture has the shape [1,?,?,?]: onnx_layout nchw or nhwc must be told");
  EXPECT_EQ(
      refusal(network({1, 1, 28, 28}, {1, 8})),
      "net.onnx: input picture has the shape [1,1,28,28], a picture [1,3,H,W] or [1,H,W,3] was "
      "expected");
  EXPECT_TRUE(contains(refusal(network({8, 3, 28, 28}, {8, 8})), "[8,3,28,28]"));
  EXPECT_TRUE(contains(refusal(network({1, 1000}, {1, 8})), "[1,1000]"));
  EXPECT_TRUE(contains(refusal(network({}, {1, 8})), "the shape []"));
  OnnxOptions told;
  told.onnx_layout = "nchw";
  EXPECT_TRUE(contains(refusal(network({1, 28, 28, 3}, {1, 8}), told), "a picture [1,3,H,W] was"));
  OnnxDescription bytes = network({1, 3, 28, 28}, {1, 8});
  bytes.inputs[0].type = "uint8";
  EXPECT_EQ(refusal(bytes), "net.onnx: input picture is of uint8, float32 was expected");
  OnnxDescription two = network({1, 3, 28, 28}, {1, 8});
  two.inputs.push_back({"mask", "float32", {1, 28, 28}});
  EXPECT_EQ(
      refusal(two),
      "net.onnx has 2 inputs (picture [1,3,28,28], mask [1,28,28]), one picture was expected");
}

TEST(OnnxNetwork, OneOfSeveralOutputsMustBeNamed) {
  OnnxDescription two = network({1, 3, 28, 28}, {1, 5, 8});
  two.outputs.push_back({"pooled", "float32", {1, 8}});
  EXPECT_EQ(refusal(two),
            "net.onnx has 2 outputs (features [1,5,8], pooled [1,8]): onnx_output must name one");
  OnnxOptions told;
  told.onnx_output = "pooled";
  EXPECT_EQ(read(two, told).output.name, "pooled");
  told.onnx_output = "poled";
  EXPECT_EQ(refusal(two, told),
            "net.onnx: unknown onnx_output 'poled': did you mean pooled? Known: features, pooled");
  two.metadata["onnx_output"] = "features";
  EXPECT_EQ(read(two).output.name, "features");
  two.outputs[0].type = "float16";
  EXPECT_EQ(refusal(two), "net.onnx: output features is of float16, float32 was expected");
}

TEST(OnnxNetwork, NormalisationIsNamedOrSixNumbers) {
  OnnxDescription one = network({1, 3, 28, 28}, {1, 8});
  EXPECT_EQ(read(one).preprocessing.normalization, Normalization::kImagenet);
  one.metadata["onnx_normalization"] = "signed";
  EXPECT_EQ(read(one).preprocessing.normalization, Normalization::kStandard);
  EXPECT_EQ(read(one).preprocessing.mean, (std::array<float, 3>{0.5f, 0.5f, 0.5f}));
  OnnxOptions told;
  told.onnx_normalization = "0.1 0.2 0.3 1 2 3";
  EXPECT_EQ(read(one, told).preprocessing.mean, (std::array<float, 3>{0.1f, 0.2f, 0.3f}));
  EXPECT_EQ(read(one, told).preprocessing.deviation, (std::array<float, 3>{1, 2, 3}));
  for (const char* wrong :
       {"imagent", "0.1 0.2 0.3", "0 0 0 1 1 0", "0 0 0 1 1 1 1", "0 0 0 1 1 x"}) {
    told.onnx_normalization = wrong;
    EXPECT_EQ(
        message_of([&] { told.validate(); }),
        std::string("onnx_normalization is '") + wrong +
            "', imagenet, unit, signed, clip, caffe, raw or six numbers (means and deviations) "
            "were expected");
  }
  const std::uint8_t colour[] = {255, 51, 0};
  const Pixels pixels = to_pixels({colour, 1, 1, 3, PixelFormat::kRgb},
                                  Normalization::kStandard,
                                  {0.1f, 0.2f, 0.3f},
                                  {1, 2, 3});
  EXPECT_FLOAT_EQ(pixels.chw[0], 0.9f);
  EXPECT_NEAR(pixels.chw[1], 0, 1e-7);
  EXPECT_FLOAT_EQ(pixels.chw[2], -0.1f);
}

TEST(OnnxNetwork, MetadataFillWhatIsLeftOpen) {
  OnnxDescription one = network({1, 3, -1, -1}, {1, -1, 8});
  one.metadata["onnx_leading_tokens"] = "5";
  one.metadata["onnx_multiple"] = "14";
  EXPECT_EQ(read(one).options.onnx_leading_tokens, 5);
  EXPECT_EQ(read(one).preprocessing.multiple, 14);
  OnnxOptions told;
  told.onnx_leading_tokens = 0;
  told.onnx_multiple = 16;
  EXPECT_EQ(read(one, told).options.onnx_leading_tokens, 0);
  EXPECT_EQ(read(one, told).preprocessing.multiple, 16);
  one.metadata["onnx_multiple"] = "14px";
  EXPECT_EQ(refusal(one), "net.onnx: its onnx_multiple is '14px', a whole number was expected");
  told.onnx_leading_tokens = -1;
  EXPECT_TRUE(contains(message_of([&] { told.validate(); }), "onnx_leading_tokens is -1"));
  told = {};
  told.onnx_layout = "nchv";
  EXPECT_TRUE(contains(message_of([&] { told.validate(); }), "did you mean nchw?"));
}

TEST(OnnxNetwork, LeadingTokensLeaveAGridOfSquarePatches) {
  EXPECT_EQ(leading_tokens(256, 224, 224), 0);
  EXPECT_EQ(leading_tokens(257, 224, 224), 1);
  EXPECT_EQ(leading_tokens(261, 224, 224), 5);
  EXPECT_EQ(leading_tokens(1 + 30 * 40, 480, 640), 1);
  EXPECT_EQ(leading_tokens(5 + 16 * 23, 224, 322), 5);
  EXPECT_EQ(leading_tokens(300, 224, 224), std::nullopt);
}

TEST(OnnxNetwork, FeaturesAreRowsOfPatches) {
  OnnxNetwork tokens = read(network({1, 3, 28, 42}, {1, 7, 2}));
  tokens.options.onnx_leading_tokens = 1;
  std::vector<float> values(14);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const PatchFeatures rows = tokens.features(Shape{1, 7, 2}, values.data(), 28, 42);
  EXPECT_EQ(rows.grid_height, 2);
  EXPECT_EQ(rows.grid_width, 3);
  EXPECT_EQ(rows.class_token, (Vector{0, 1}));
  EXPECT_EQ(rows.patches(0, 0), 2);
  EXPECT_EQ(rows.patches(5, 1), 13);
  const OnnxNetwork map = read(network({1, 3, 28, 42}, {1, 2, 1, 7}));
  const PatchFeatures planes = map.features(Shape{1, 2, 1, 7}, values.data(), 28, 42);
  EXPECT_EQ(planes.grid_width, 7);
  EXPECT_EQ(planes.patches(3, 0), 3);
  EXPECT_EQ(planes.patches(3, 1), 10);
  const OnnxNetwork last = read(network({1, 28, 42, 3}, {1, 7, 1, 2}));
  const PatchFeatures interleaved = last.features(Shape{1, 7, 1, 2}, values.data(), 28, 42);
  EXPECT_EQ(interleaved.grid_height, 7);
  EXPECT_EQ(interleaved.patches(3, 1), 7);
  tokens.options.onnx_leading_tokens = 7;
  EXPECT_TRUE(contains(message_of([&] {
                         tokens.features(Shape{1, 7, 2}, values.data(), 28, 42);
                       }),
                       "no patches behind 7 leading tokens"));
  EXPECT_TRUE(
      contains(message_of([&] { tokens.dim(Shape{5}); }), "output features has the shape [5]"));
  EXPECT_TRUE(tokens.is_global(Shape{1, 8}));
  EXPECT_TRUE(map.is_global(Shape{1, 8, 1, 1}));
  EXPECT_FALSE(map.is_global(Shape{1, 8, 1, 2}));
}

}  // namespace
}  // namespace ria
