// SPDX-License-Identifier: MIT
#include "nn/conv_net.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>

#include "nn/compiled_net.h"

namespace ria {

struct ConvNet::Impl {
  std::vector<ConvStep> steps;
  std::vector<int> outputs;
  int input_channels;
  Precision precision;
  mutable PackedWeights weights;

  // Idle plans, by (height, width, threads): layers are compiled for a number of threads.
  using Key = std::array<int, 3>;
  static constexpr std::size_t kMaxIdle = 16;
  mutable std::mutex mutex;
  mutable std::deque<std::pair<Key, std::unique_ptr<CompiledNet>>> idle;

  std::unique_ptr<CompiledNet> take(const Key& key) const {
    {
      const std::lock_guard lock(mutex);
      const auto it =
          std::find_if(idle.rbegin(), idle.rend(), [&](auto& entry) { return entry.first == key; });
      if (it != idle.rend()) {
        std::unique_ptr<CompiledNet> plan = std::move(it->second);
        idle.erase(std::next(it).base());
        return plan;
      }
    }
    return std::make_unique<CompiledNet>(
        steps, outputs, TensorShape{input_channels, key[0], key[1]}, weights, precision);
  }

  void give_back(const Key& key, std::unique_ptr<CompiledNet> plan) const {
    const std::lock_guard lock(mutex);
    idle.emplace_back(key, std::move(plan));
    if (idle.size() > kMaxIdle) idle.pop_front();
  }
};

ConvNet::ConvNet(std::vector<ConvStep> steps,
                 std::vector<int> outputs,
                 Precision precision,
                 int input_channels)
    : impl_(new Impl{std::move(steps), std::move(outputs), input_channels, precision, {}, {}, {}}) {
}

ConvNet::~ConvNet() = default;

std::vector<FeatureMap> ConvNet::run(const Pixels& pixels) const {
  std::vector<FeatureMap> results;
  run(pixels, [&](int height, int width, int channels) {
    results.push_back({height, width, channels, {}});
    results.back().hwc.resize(static_cast<std::size_t>(height) * width * channels);
    return results.back().hwc.data();
  });
  return results;
}

void ConvNet::run(const Pixels& pixels, const Room& room) const {
  const Impl::Key key{pixels.height, pixels.width, omp_get_max_threads()};
  std::unique_ptr<CompiledNet> plan = impl_->take(key);
  plan->run(pixels, room);
  impl_->give_back(key, std::move(plan));
}

double ConvNet::flops(int height, int width) const {
  const std::vector<TensorShape> shapes =
      infer_shapes(impl_->steps, {impl_->input_channels, height, width});
  double total = 0;
  for (std::size_t i = 0; i < impl_->steps.size(); ++i) {
    const Convolution& conv = impl_->steps[i].convolution;
    if (impl_->steps[i].kind != ConvStep::Kind::kConvolution) continue;
    total += 2.0 * conv.in * conv.out * conv.kernel * conv.kernel * shapes[i + 1].height *
             shapes[i + 1].width;
  }
  return total;
}

int ConvNet::channels(int tensor) const {
  return infer_shapes(impl_->steps, {impl_->input_channels, 512, 512}).at(tensor).channels;
}

}  // namespace ria
