// SPDX-License-Identifier: MIT
#pragma once

#include "train/torch/tensors.h"

namespace ria {

/// A trained tensor and its moments.
struct Trained {
  std::string name;
  Tensor value;
  bool head = false;  ///< learns at the heads' rate
  Tensor m, v;
};

/// AdamW as PyTorch computes it: decay apart from the gradient, moments corrected by the number of
/// steps. `steps` counts this one.
inline void adam_w(Trained& trained,
                   const Tensor& gradient,
                   double rate,
                   long long steps,
                   const EngineOptions& options) {
  const double beta1 = options.adam_beta1, beta2 = options.adam_beta2;
  trained.value.mul_(1 - rate * options.weight_decay);
  trained.m.mul_(beta1).add_(gradient, 1 - beta1);
  trained.v.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  const double first = 1 - std::pow(beta1, static_cast<double>(steps));
  const double second = 1 - std::pow(beta2, static_cast<double>(steps));
  const Tensor divisor = trained.v.sqrt().div_(std::sqrt(second)).add_(options.adam_eps);
  trained.value.addcdiv_(trained.m, divisor, -rate / first);
}

}  // namespace ria
