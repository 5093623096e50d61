// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Parallel.h>

#include <cmath>

#include "train/torch/tensors.h"

namespace ria {

/// A trained tensor and its moments.
struct Trained {
  std::string name;
  Tensor value;
  bool head = false;  ///< learns at the heads' rate
  Tensor m, v;
};

/// A step of AdamW as PyTorch computes it: decay apart from the gradient, moments corrected by the
/// number of steps.
struct AdamW {
  /// `steps` counts this one.
  AdamW(const EngineOptions& options, double rate, long long steps)
      : beta1(options.adam_beta1),
        beta2(options.adam_beta2),
        eps(options.adam_eps),
        kept(1 - rate * options.weight_decay),
        rate_of_first(rate / (1 - std::pow(beta1, static_cast<double>(steps)))),
        root_of_second(std::sqrt(1 - std::pow(beta2, static_cast<double>(steps)))) {}

  void operator()(Trained& trained, const Tensor& gradient) const {
    const bool plain = trained.value.is_cpu() && trained.value.is_contiguous();
    plain ? in_one_pass(trained, gradient.contiguous()) : by_tensors(trained, gradient);
  }

 private:
  void by_tensors(Trained& trained, const Tensor& gradient) const {
    trained.value.mul_(kept);
    trained.m.mul_(beta1).add_(gradient, 1 - beta1);
    trained.v.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
    const Tensor divisor = trained.v.sqrt().div_(root_of_second).add_(eps);
    trained.value.addcdiv_(trained.m, divisor, -rate_of_first);
  }

  /// The same on a CPU, where MLPs do not fit into its caches: each value is fetched once.
  void in_one_pass(Trained& trained, const Tensor& gradient) const {
    float* const value = trained.value.data_ptr<float>();
    float* const m = trained.m.data_ptr<float>();
    float* const v = trained.v.data_ptr<float>();
    const float* const g = gradient.data_ptr<float>();
    const auto decay = static_cast<float>(kept), rate = static_cast<float>(rate_of_first);
    const auto b1 = static_cast<float>(beta1), b2 = static_cast<float>(beta2);
    const auto root = static_cast<float>(root_of_second), least = static_cast<float>(eps);
    constexpr std::int64_t kOneCore = 1 << 15;  // values that are not worth a second one
    at::parallel_for(0, gradient.numel(), kOneCore, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
        value[i] = decay * value[i] - rate * m[i] / (std::sqrt(v[i]) / root + least);
      }
    });
  }

  double beta1, beta2, eps, kept, rate_of_first, root_of_second;
};

}  // namespace ria
