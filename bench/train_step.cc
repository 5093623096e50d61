// SPDX-License-Identifier: MIT
#include "train_step.h"

#include <algorithm>
#include <ctime>

#include "method/random_weights.h"
#include "networks.h"
#include "ria/eigen.h"
#include "timing.h"
#include "train/network.h"
#include "util/parallel.h"
#include "util/plugin.h"

namespace ria::bench {

void train_step(int rounds, const std::function<void(const std::string&, double)>& put) {
  constexpr int kPlaces = 16, kPictures = 4, kSide = 224, kCount = kPlaces * kPictures;
  const auto& torch = plugin<TorchFunctions>(
      {"torch", "measuring a step", "LibTorch", "apt-get install libtorch-dev libgloo-dev"});
  TrainOptions options;
  options.backbone = "dinov2-vits14";
  TrainNetwork network = make_train_network(
      BackboneWeights{options.backbone, random_backbone(options.backbone), ""}, options);
  for (int h = 0; h < options.heads; ++h) {
    const HeadShape& head = network.shape.heads[h];
    const Matrix q = random_orthogonal(head.d * (head.d + 1) / 2, head.out, h);
    for (NamedTensor& made : linear_mlp(h, head, to_matrix(as_eigen(q).transpose()), 1)) {
      for (NamedTensor& old : network.tensors) {
        if (old.name == made.name) old = std::move(made);
      }
    }
  }
  const auto engine = torch.make(network.shape, network.tensors, network.trained, EngineOptions());
  TrainBatch batch;
  batch.count = kCount;
  std::vector<Pixels> pictures;
  for (int i = 0; i < kCount; ++i) {
    pictures.push_back(random_pixels(kSide, kSide));
    for (float& value : pictures.back().chw) value *= 1 + 0.01f * static_cast<float>(i);
    batch.labels.push_back(i / kPictures);
  }
  const auto frozen = [&] {
    std::vector<EntryValues> entered(kCount);
    parallel_for(
        kCount, num_cores(), [&](int i) { entered[i] = network.frozen->run(pictures[i]); });
    batch.height = entered[0].height;
    batch.width = entered[0].width;
    batch.channels = entered[0].channels;
    batch.values.clear();
    for (const EntryValues& one : entered) {
      batch.values.insert(batch.values.end(), one.values.begin(), one.values.end());
    }
  };
  const auto step = [&] { engine->step(batch, options.lr, options.head_lr); };
  double best_frozen = 1e9, best_step = 1e9, best = 1e9, best_cpu = 1e9;
  for (int round = 0; round <= rounds; ++round) {
    const std::clock_t before = std::clock();
    const double front = seconds(frozen), behind = seconds(step);
    if (round == 0) continue;  // warm-up
    best_cpu = std::min(best_cpu, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
    best_frozen = std::min(best_frozen, front);
    best_step = std::min(best_step, behind);
    best = std::min(best, front + behind);
  }
  put("train_frozen_ms", best_frozen * 1e3);
  put("train_engine_ms", best_step * 1e3);
  put("train_step_ms", best * 1e3);
  put("train_step_cpu_ms", best_cpu * 1e3);
}

}  // namespace ria::bench
