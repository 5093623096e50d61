// SPDX-License-Identifier: MIT
// LibTorch's engine and small networks for it. A test that needs it starts with RIA_NEEDS_TORCH.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "ria/eigen.h"
#include "train/engine.h"
#include "util/plugin.h"

#define RIA_NEEDS_TORCH                                                                    \
  if (!std::filesystem::exists(std::filesystem::path(RIA_BINARY_DIR) / "libria-torch.so")) \
  GTEST_SKIP() << "libria-torch.so was not built (apt-get install libtorch-dev libgloo-dev)"

namespace ria {

inline const TorchFunctions& torch_functions() {
  return plugin<TorchFunctions>(
      {"torch", "testing", "LibTorch", "apt-get install libtorch-dev libgloo-dev"});
}

inline std::vector<float> random_values(std::size_t count, float scale, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

/// Two convolutions with a residual between them, and two heads of different size.
struct SmallNetwork {
  static constexpr int kChannels = 12;
  NetworkShape shape;
  std::vector<NamedTensor> tensors;
  std::vector<std::string> trained;

  SmallNetwork() {
    shape.conv.steps = {{"backbone.a", 0, -1, true, 3, 2, 1}, {"backbone.b", 1, 1, true, 3, 1, 1}};
    shape.feature_dim = kChannels;
    shape.heads = {{6, 8, 4}, {4, 0, 5}};
    add("backbone.a.weight", {kChannels, 3, 3, 3}, 0.3f);
    add("backbone.a.bias", {kChannels}, 0.1f);
    add("backbone.b.weight", {kChannels, kChannels, 3, 3}, 0.2f);
    add("backbone.b.bias", {kChannels}, 0.1f);
    add("heads.0.projection.weight", {6, kChannels}, 0.3f);
    add("heads.0.mlp.0.weight", {8, 21}, 0.3f);
    add("heads.0.mlp.0.bias", {8}, 0.1f);
    add("heads.0.mlp.2.weight", {4, 8}, 0.3f);
    add("heads.0.mlp.2.bias", {4}, 0.1f);
    add("heads.1.projection.weight", {4, kChannels}, 0.3f);
    add("heads.1.mlp.0.weight", {5, 10}, 0.3f);
    add("heads.1.mlp.0.bias", {5}, 0.1f);
    for (const NamedTensor& tensor : tensors) {
      if (!tensor.name.starts_with("backbone.a")) trained.push_back(tensor.name);
    }
  }

  std::unique_ptr<TrainEngine> engine(const EngineOptions& options = {}) const {
    return torch_functions().make(shape, tensors, trained, options);
  }

 private:
  void add(const std::string& name, std::vector<std::int64_t> sides, float scale) {
    std::size_t count = 1;
    for (const auto side : sides) count *= static_cast<std::size_t>(side);
    const auto seed = static_cast<std::uint32_t>(tensors.size() + 1);
    tensors.push_back({name, std::move(sides), random_values(count, scale, seed)});
  }
};

/// Random pictures of 16 x 20 pixels; picture i shows place i / 2.
inline TrainBatch small_batch(int count, std::uint32_t seed = 5) {
  TrainBatch batch;
  batch.count = count;
  batch.height = 16;
  batch.width = 20;
  batch.channels = 3;
  batch.values = random_values(static_cast<std::size_t>(count) * 3 * 16 * 20, 1, seed);
  for (int i = 0; i < count; ++i) batch.labels.push_back(i / 2);
  return batch;
}

/// Pictures first to first + count of a batch.
inline TrainBatch part_of(const TrainBatch& batch, int first, int count) {
  TrainBatch part = batch;
  const auto each = static_cast<std::ptrdiff_t>(batch.values.size()) / batch.count;
  part.count = count;
  part.values.assign(batch.values.begin() + first * each,
                     batch.values.begin() + (first + count) * each);
  part.labels.assign(batch.labels.begin() + first, batch.labels.begin() + first + count);
  return part;
}

}  // namespace ria
