// SPDX-License-Identifier: MIT
// Networks of a weight file as torch.onnx.export would leave them.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/onnx_writer.h"
#include "tensor/tensor.h"

namespace ria {

/// The tensor of a published name.
using NamedTensors = std::function<Tensor(const std::string&)>;

/// ResNet50 up to layer3 (torchvision's names): the name of its feature map.
class OnnxResNet50 {
 public:
  OnnxResNet50(OnnxGraph& graph, const TensorFile& file) : graph_(graph), file_(file) {}

  std::string layer3(std::string x) {
    x = convolution(x, "conv1", "bn1", 2, true);
    x = graph_.node("MaxPool", {x}, window(3, 2));
    const int blocks[] = {3, 4, 6};
    for (int layer = 1; layer <= 3; ++layer) {
      for (int b = 0; b < blocks[layer - 1]; ++b) {
        const std::string name = "layer" + std::to_string(layer) + "." + std::to_string(b) + ".";
        x = bottleneck(x, name, b == 0 && layer > 1 ? 2 : 1);
      }
    }
    return x;
  }

 private:
  static OnnxGraph::Attributes window(std::int64_t side, std::int64_t stride) {
    const std::int64_t pad = (side - 1) / 2;
    return {{"kernel_shape", OnnxGraph::Shape{side, side}},
            {"strides", OnnxGraph::Shape{stride, stride}},
            {"pads", OnnxGraph::Shape{pad, pad, pad, pad}}};
  }
  std::string convolution(const std::string& x,
                          const std::string& name,
                          const std::string& norm,
                          int stride,
                          bool relu) {
    const Tensor& weight = file_.at(name + ".weight");
    std::vector<std::string> inputs{
        graph_.node("Conv", {x, graph_.constant(weight)}, window(weight.shape[2], stride))};
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) {
      inputs.push_back(graph_.constant(file_.at(norm + part)));
    }
    const std::string y = graph_.node("BatchNormalization", inputs, {{"epsilon", 1e-5f}});
    return relu ? graph_.node("Relu", {y}) : y;
  }
  std::string bottleneck(std::string x, const std::string& name, int stride) {
    std::string y = convolution(x, name + "conv1", name + "bn1", 1, true);
    y = convolution(y, name + "conv2", name + "bn2", stride, true);
    y = convolution(y, name + "conv3", name + "bn3", 1, false);
    if (file_.tensors().count(name + "downsample.0.weight") != 0) {
      x = convolution(x, name + "downsample.0", name + "downsample.1", stride, false);
    }
    return graph_.node("Relu", {graph_.node("Add", {x, y})});
  }

  OnnxGraph& graph_;
  const TensorFile& file_;
};

/// A vision transformer (DINOv2's names) on the grid of its own table of positions: the name of all
/// its tokens behind the final norm.
class OnnxVit {
 public:
  OnnxVit(OnnxGraph& graph, NamedTensors tensors, int depth, int registers)
      : graph_(graph),
        tensors_(std::move(tensors)),
        depth_(depth),
        registers_(registers),
        dim_(tensors_("cls_token").shape[2]) {}

  std::string tokens(const std::string& picture) {
    const Tensor patch = tensors_("patch_embed.proj.weight");
    const OnnxGraph::Shape side{patch.shape[2], patch.shape[3]};
    const std::string grid =
        graph_.node("Conv",
                    {picture, graph_.constant(patch), constant("patch_embed.proj.bias")},
                    {{"kernel_shape", side}, {"strides", side}});
    const std::string rows = graph_.node("Reshape", {grid, graph_.integers({1, dim_, -1})});
    std::string x = graph_.node("Concat",
                                {constant("cls_token"), transposed(rows, {0, 2, 1})},
                                {{"axis", std::int64_t{1}}});
    x = graph_.node("Add", {x, constant("pos_embed")});
    if (registers_ > 0) x = with_registers(x);
    for (int b = 0; b < depth_; ++b) x = block(x, "blocks." + std::to_string(b) + ".");
    return norm(x, "norm");
  }

 private:
  std::string constant(const std::string& name) { return graph_.constant(tensors_(name)); }
  std::string transposed(const std::string& x, const OnnxGraph::Shape& order) {
    return graph_.node("Transpose", {x}, {{"perm", order}});
  }
  std::string with_registers(const std::string& x) {
    const auto part = [&](std::int64_t from, std::int64_t to) {
      return graph_.node("Slice",
                         {x, graph_.integers({from}), graph_.integers({to}), graph_.integers({1})});
    };
    return graph_.node("Concat",
                       {part(0, 1), constant("register_tokens"), part(1, 1 << 20)},
                       {{"axis", std::int64_t{1}}});
  }
  std::string norm(const std::string& x, const std::string& name) {
    return graph_.node("LayerNormalization",
                       {x, constant(name + ".weight"), constant(name + ".bias")},
                       {{"axis", std::int64_t{-1}}, {"epsilon", 1e-6f}});
  }
  std::string linear(const std::string& x, const std::string& name) {
    const std::string weight = transposed(constant(name + ".weight"), {1, 0});
    return graph_.node("Add", {graph_.node("MatMul", {x, weight}), constant(name + ".bias")});
  }
  std::string attention(const std::string& x, const std::string& name) {
    const std::int64_t heads = dim_ / 64;
    const std::string split =
        graph_.node("Reshape", {linear(x, name + "qkv"), graph_.integers({1, -1, 3, heads, 64})});
    const std::string order = transposed(split, {2, 0, 3, 1, 4});
    const auto pick = [&](std::int64_t which) {
      const std::string one =
          graph_.node("Gather", {order, graph_.integers({which})}, {{"axis", std::int64_t{0}}});
      return graph_.node("Squeeze", {one, graph_.integers({0})});
    };
    const std::string query = graph_.node("Mul", {pick(0), graph_.scalar(0.125f)});
    const std::string scores = graph_.node("MatMul", {query, transposed(pick(1), {0, 1, 3, 2})});
    const std::string weights = graph_.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    const std::string mixed = transposed(graph_.node("MatMul", {weights, pick(2)}), {0, 2, 1, 3});
    return linear(graph_.node("Reshape", {mixed, graph_.integers({1, -1, dim_})}), name + "proj");
  }
  std::string gelu(const std::string& x) {
    const std::string erf =
        graph_.node("Erf", {graph_.node("Div", {x, graph_.scalar(std::sqrt(2.0f))})});
    const std::string product =
        graph_.node("Mul", {x, graph_.node("Add", {erf, graph_.scalar(1)})});
    return graph_.node("Mul", {product, graph_.scalar(0.5f)});
  }
  std::string block(std::string x, const std::string& name) {
    const std::string mixed = attention(norm(x, name + "norm1"), name + "attn.");
    x = graph_.node("Add", {x, graph_.node("Mul", {mixed, constant(name + "ls1.gamma")})});
    const std::string hidden = gelu(linear(norm(x, name + "norm2"), name + "mlp.fc1"));
    const std::string made = linear(hidden, name + "mlp.fc2");
    return graph_.node("Add", {x, graph_.node("Mul", {made, constant(name + "ls2.gamma")})});
  }

  OnnxGraph& graph_;
  NamedTensors tensors_;
  int depth_, registers_;
  std::int64_t dim_;
};

}  // namespace ria
