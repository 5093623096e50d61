// SPDX-License-Identifier: MIT
#include "method/random_weights.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "aggregate/ria_ft.h"

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

/// Nearly normal numbers, quickly: a giant has a thousand million of them. Tensors of the same
/// spread share their memory, so that it takes little of it.
class RandomTensors {
 public:
  void add(const std::string& name, std::vector<std::int64_t> shape, float scale, float mean = 0) {
    std::size_t count = 1;
    for (const auto side : shape) count *= static_cast<std::size_t>(side);
    auto& pool = pools_[{scale, mean}];
    if (!pool || pool->size() < count + kShift) pool = fill(count + kShift, scale, mean);
    const std::size_t begin = (tensors_.size() * 7919) % kShift;  // neighbours should differ
    Tensor tensor;
    tensor.shape = std::move(shape);
    tensor.bytes = {reinterpret_cast<const std::uint8_t*>(pool->data() + begin),
                    count * sizeof(float)};
    tensor.owner = pool;
    tensors_[name] = std::move(tensor);
  }

  void linear(const std::string& name, int out, int in) {
    add(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<float>(in)));
    add(name + ".bias", {out}, 0.02f);
  }

  void convolution(const std::string& name, int out, int in, int kernel, bool bias) {
    add(name + ".weight",
        {out, in, kernel, kernel},
        std::sqrt(2.0f / static_cast<float>(in * kernel * kernel)));
    if (bias) add(name + ".bias", {out}, 0.02f);
  }

  void norm(const std::string& name, int dim, float weight = 1) {
    add(name + ".weight", {dim}, 0.1f * weight, weight);
    add(name + ".bias", {dim}, 0.05f);
  }

  void batch_norm(const std::string& name, int dim, float weight = 1) {
    norm(name, dim, weight);
    add(name + ".running_mean", {dim}, 0.1f);
    add(name + ".running_var", {dim}, 0.05f, 1);
  }

  TensorFile file(const std::string& name, Metadata metadata = {}) && {
    return {"random " + name, WeightFormat::safetensors, std::move(tensors_), std::move(metadata)};
  }

 private:
  static constexpr std::size_t kShift = 4096;

  std::shared_ptr<std::vector<float>> fill(std::size_t count, float scale, float mean) {
    auto values = std::make_shared<std::vector<float>>(count);
    for (float& value : *values) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      const auto part = [&](int shift) { return static_cast<float>((state_ >> shift) & 0xffff); };
      // Three uniform numbers: variance 1/4 at this width.
      value = mean + scale * 2 * ((part(16) + part(32) + part(48)) / 65536 - 1.5f);
    }
    return values;
  }

  std::uint64_t state_ = 42;
  std::map<std::pair<float, float>, std::shared_ptr<std::vector<float>>> pools_;
  TensorMap tensors_;
};

void add_vit(RandomTensors& to, const VitShape& shape, int registers, bool adapters) {
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
    for (const char* adapter : {"adapter1.", "adapter2."}) {
      if (!adapters) continue;
      to.linear(block + adapter + "D_fc1", dim / 2, dim);
      to.linear(block + adapter + "D_fc2", dim, dim / 2);
    }
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

void add_vgg16(RandomTensors& to) {
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
    to.convolution(fmt::format("features.{}", module), out, in, 3, true);
    in = out;
  }
}

void add_backbone(RandomTensors& to, const std::string& name, bool adapters) {
  const bool registers = name.ends_with("-reg");
  const std::string plain = registers ? name.substr(0, name.size() - 4) : name;
  for (const VitShape& shape : kVits) {
    if (plain == shape.name) return add_vit(to, shape, registers ? 4 : 0, adapters);
  }
  for (const ResNetShape& shape : kResNets) {
    if (plain == shape.name) return add_resnet(to, shape);
  }
  if (plain == "vgg16") return add_vgg16(to);
  throw std::invalid_argument(fmt::format("backbone {} has no shape of its own", name));
}

void add_netvlad(RandomTensors& to, int features, int dim) {
  constexpr int kClusters = 64;
  to.add("pool.conv.weight", {kClusters, features, 1, 1}, 1.0f);
  to.add("pool.centroids", {kClusters, features}, 0.05f);
  if (dim == kClusters * features) return;
  to.add("WPCA.0.weight", {dim, kClusters * features, 1, 1}, 0.01f);
  to.add("WPCA.0.bias", {dim}, 0.01f);
}

void add_mixvpr(RandomTensors& to, int dim) {
  constexpr int kPatches = 20 * 20;
  const int rows = dim == 4096 ? 4 : 2;
  for (int m = 0; m < 4; ++m) {
    const std::string mixer = fmt::format("aggregator.mix.{}.mix.", m);
    to.norm(mixer + "0", kPatches);
    to.linear(mixer + "1", kPatches, kPatches);
    to.linear(mixer + "3", kPatches, kPatches);
  }
  to.linear("aggregator.channel_proj", dim / rows, 1024);
  to.linear("aggregator.row_proj", rows, kPatches);
}

void add_salad(RandomTensors& to) {
  constexpr int kDim = 768, kHidden = 512;
  to.linear("aggregator.token_features.0", kHidden, kDim);
  to.linear("aggregator.token_features.2", 256, kHidden);
  for (const auto& [name, out] : {std::pair{"cluster_features", 128}, std::pair{"score", 64}}) {
    to.convolution(fmt::format("aggregator.{}.0", name), kHidden, kDim, 1, true);
    to.convolution(fmt::format("aggregator.{}.3", name), out, kHidden, 1, true);
  }
  to.add("aggregator.dust_bin", {}, 0, 1);
}

void add_selavpr(RandomTensors& to) {
  to.add("aggregation.1.p", {1}, 0, 3);
  to.add("LocalAdapt.upconv1.weight", {1024, 256, 3, 3}, 0.02f);
  to.add("LocalAdapt.upconv1.bias", {256}, 0.02f);
  to.add("LocalAdapt.upconv2.weight", {256, 128, 3, 3}, 0.04f);
  to.add("LocalAdapt.upconv2.bias", {128}, 0.02f);
}

void add_ria_ft(RandomTensors& to) {
  constexpr int kHeads = 4, kDim = 1024, kProjected = 64, kVector = 2080;
  for (int h = 0; h < kHeads; ++h) {
    const std::string head = fmt::format("heads.{}.", h);
    to.add(head + "projection.weight", {kProjected, kDim}, 0.03f);
    to.linear(head + "mlp.0", kVector / kHeads, kVector);
    to.linear(head + "mlp.2", kVector / kHeads, kVector / kHeads);
  }
}

void add_head(RandomTensors& to, const Method& method) {
  if (method.aggregator == "cosplace") {
    const int features = method.backbone == "vgg16" || method.backbone == "resnet18" ? 512 : 2048;
    to.add("aggregation.1.p", {1}, 0, 3);
    to.linear("aggregation.3", method.dim, features);
  }
  if (method.aggregator == "netvlad_head") {
    add_netvlad(to, method.backbone == "resnet18" ? 256 : 512, method.dim);
  }
  if (method.aggregator == "mixvpr") add_mixvpr(to, method.dim);
  if (method.aggregator == "salad") add_salad(to);
  if (method.aggregator == "selavpr") add_selavpr(to);
  if (method.aggregator == "ria_ft") add_ria_ft(to);
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
  add_backbone(tensors, backbone, false);
  return std::move(tensors).file(backbone);
}

TensorFile random_weights(const Method& method) {
  RandomTensors tensors;
  if (method.backbone != "rootsift") {
    add_backbone(tensors, method.backbone, method.weights.starts_with("selavpr"));
  }
  add_head(tensors, method);
  return std::move(tensors).file(method.name, metadata_of(method));
}

}  // namespace ria
