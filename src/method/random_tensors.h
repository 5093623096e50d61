// SPDX-License-Identifier: MIT
// Tensors of made-up values under the names of published layers.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ria/method.h"
#include "tensor/tensor.h"

namespace ria {

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

  /// A layer's weight and bias.
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

/// The tensors of the method's head, where it is trained.
void add_random_head(RandomTensors& to, const Method& method);

}  // namespace ria
