// SPDX-License-Identifier: MIT
#include "method/random_weights.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "head/ria_ft.h"
#include "method/random_tensors.h"

namespace ria {

namespace {

struct VitShape {
  const char* name;
  int dim, depth, hidden, patch, grid;
  bool gated, dinov2;
};

constexpr VitShape kVits[] = {{"dinov2-vits14", 384, 12, 1536, 14, 37, false, true},
                              {"dinov2-vitb14", 768, 12, 3072, 14, 37, false, true},
                              {"dinov2-vitl14", 1024, 24, 4096, 14, 37, false, true},
                              {"dinov2-vitg14", 1536, 40, 4096, 14, 37, true, true},
                              {"dino-vits8", 384, 12, 1536, 8, 28, false, false},
                              {"dino-vits16", 384, 12, 1536, 16, 14, false, false},
                              {"dino-vitb8", 768, 12, 3072, 8, 28, false, false},
                              {"dino-vitb16", 768, 12, 3072, 16, 14, false, false}};

struct ResNetShape {
  const char* name;
  bool bottleneck;
  int blocks[4];
};

constexpr ResNetShape kResNets[] = {{"resnet18", false, {2, 2, 2, 2}},
                                    {"resnet34", false, {3, 4, 6, 3}},
                                    {"resnet50", true, {3, 4, 6, 3}},
                                    {"resnet101", true, {3, 4, 23, 3}},
                                    {"resnet152", true, {3, 8, 36, 3}}};

/// CricaVPR's adapter: convolutions of three sizes between two linear layers.
void add_multi_scale_adapter(RandomTensors& to, const std::string& name, int dim) {
  struct Branch {
    const char* name;
    int out, in, kernel;
  };
  const int width = dim / 2;
  to.linear(name + "D_fc1", width, dim);
  to.linear(name + "D_fc2", dim, width);
  for (const Branch& branch : {Branch{"branch1", width / 2, width, 1},
                               Branch{"branch2.0", width / 16, width, 1},
                               Branch{"branch2.1", width / 4, width / 16, 3},
                               Branch{"branch3.0", width / 16, width, 1},
                               Branch{"branch3.1", width / 4, width / 16, 5}}) {
    to.convolution(name + branch.name + ".conv", branch.out, branch.in, branch.kernel, true);
    to.batch_norm(name + branch.name + ".bn", branch.out);
  }
}

/// What a method trained beside the backbone's layers.
void add_adapters(RandomTensors& to, const std::string& head, int block, int dim) {
  const std::string name = fmt::format("blocks.{}.", block);
  if (head == "cricavpr") add_multi_scale_adapter(to, name + "adapter.", dim);
  if (head == "edtformer") {
    to.linear(fmt::format("adapters.{}.D_fc1", block), 4, dim);
    to.linear(fmt::format("adapters.{}.D_fc2", block), dim, 4);
  }
  for (const char* adapter : {"adapter1.", "adapter2."}) {
    if (head != "selavpr") continue;
    to.linear(name + adapter + "D_fc1", dim / 2, dim);
    to.linear(name + adapter + "D_fc2", dim, dim / 2);
  }
}

void add_vit(RandomTensors& to, const VitShape& shape, int registers, const std::string& head) {
  const int dim = shape.dim;
  to.add("cls_token", {1, 1, dim}, 0.02f);
  to.add("pos_embed", {1, 1 + shape.grid * shape.grid, dim}, 0.02f);
  if (registers > 0) to.add("register_tokens", {1, registers, dim}, 0.02f);
  to.add("patch_embed.proj.weight", {dim, 3, shape.patch, shape.patch}, 0.04f);
  to.add("patch_embed.proj.bias", {dim}, 0.02f);
  for (int b = 0; b < shape.depth; ++b) {
    const std::string block = fmt::format("blocks.{}.", b);
    to.norm(block + "norm1", dim);
    to.norm(block + "norm2", dim);
    for (const char* scale : {"ls1.gamma", "ls2.gamma"}) {
      if (shape.dinov2) to.add(block + scale, {dim}, 0.1f, 0.3f);
    }
    to.linear(block + "attn.qkv", 3 * dim, dim);
    to.linear(block + "attn.proj", dim, dim);
    to.linear(
        block + (shape.gated ? "mlp.w12" : "mlp.fc1"), shape.hidden * (shape.gated ? 2 : 1), dim);
    to.linear(block + (shape.gated ? "mlp.w3" : "mlp.fc2"), dim, shape.hidden);
    add_adapters(to, head, b, dim);
  }
  to.norm("norm", dim);
}

void add_resnet(RandomTensors& to, const ResNetShape& shape) {
  to.convolution("conv1", 64, 3, 7, false);
  to.batch_norm("bn1", 64);
  const int expansion = shape.bottleneck ? 4 : 1;
  int in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage, out = width * expansion;
    for (int b = 0; b < shape.blocks[stage]; ++b) {
      const std::string block = fmt::format("layer{}.{}.", stage + 1, b);
      to.convolution(block + "conv1", width, in, shape.bottleneck ? 1 : 3, false);
      to.convolution(block + "conv2", width, width, 3, false);
      if (shape.bottleneck) to.convolution(block + "conv3", out, width, 1, false);
      to.batch_norm(block + "bn1", width);
      // The last norm of a block is small, so that a hundred of them do not blow up.
      to.batch_norm(block + "bn2", width, shape.bottleneck ? 1 : 0.2f);
      if (shape.bottleneck) to.batch_norm(block + "bn3", out, 0.2f);
      if (b == 0 && (in != out || stage > 0)) {
        to.convolution(block + "downsample.0", out, in, 1, false);
        to.batch_norm(block + "downsample.1", out);
      }
      in = out;
    }
  }
}

void add_vgg16(RandomTensors& to, const std::string& prefix) {
  constexpr std::pair<int, int> kLayers[] = {{0, 64},
                                             {2, 64},
                                             {5, 128},
                                             {7, 128},
                                             {10, 256},
                                             {12, 256},
                                             {14, 256},
                                             {17, 512},
                                             {19, 512},
                                             {21, 512},
                                             {24, 512},
                                             {26, 512},
                                             {28, 512}};
  int in = 3;
  for (const auto& [module, out] : kLayers) {
    to.convolution(fmt::format("{}{}", prefix, module), out, in, 3, true);
    in = out;
  }
}

/// With what was trained for a head, which a plain backbone has not.
void add_backbone(RandomTensors& to, const std::string& name, const Method* method) {
  const std::string head = method == nullptr                        ? ""
                           : method->weights.starts_with("selavpr") ? "selavpr"
                                                                    : method->aggregator;
  const bool registers = name.ends_with("-reg");
  const std::string plain = registers ? name.substr(0, name.size() - 4) : name;
  for (const VitShape& shape : kVits) {
    if (plain == shape.name) return add_vit(to, shape, registers ? 4 : 0, head);
  }
  for (const ResNetShape& shape : kResNets) {
    if (plain == shape.name) return add_resnet(to, shape);
  }
  const bool sfrs = method != nullptr && method->name == "sfrs";
  if (plain == "vgg16") return add_vgg16(to, sfrs ? "base_model.base." : "features.");
  throw std::invalid_argument(fmt::format("backbone {} has no shape of its own", name));
}

Metadata metadata_of(const Method& method) {
  if (method.aggregator != "ria_ft") return {};
  RiaFtSettings settings;
  settings.backbone.layer = 23;
  settings.backbone.facet = Facet::kToken;
  settings.backbone.final_norm = true;
  settings.image_size = 322;
  return ria_ft_metadata(settings);
}

}  // namespace

TensorFile random_backbone(const std::string& backbone) {
  RandomTensors tensors;
  add_backbone(tensors, backbone, nullptr);
  return std::move(tensors).file(backbone);
}

TensorFile random_weights(const Method& method) {
  RandomTensors tensors;
  if (method.backbone != "rootsift") {
    add_backbone(tensors, method.backbone, &method);
  }
  add_random_head(tensors, method);
  return std::move(tensors).file(method.name, metadata_of(method));
}

}  // namespace ria
