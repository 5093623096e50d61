// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include "train/torch/tensors.h"

namespace ria {

/// Large products of its scope are computed in half precision; kFloat: nothing changes.
class HalfPrecision {
 public:
  HalfPrecision(at::ScalarType type, const at::Device& device)
      : on_(type != at::kFloat), cuda_(device.is_cuda()) {
    if (!on_) return;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_dtype(device.type(), type);
#else
    cuda_ ? at::autocast::set_autocast_gpu_dtype(type) : at::autocast::set_autocast_cpu_dtype(type);
#endif
    enable(true);
    at::autocast::increment_nesting();
  }
  ~HalfPrecision() {
    if (!on_) return;
    // Weights change from step to step: halves of them must not outlive the scope.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    enable(false);
  }
  HalfPrecision(const HalfPrecision&) = delete;
  HalfPrecision& operator=(const HalfPrecision&) = delete;

 private:
  void enable(bool on) const {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_enabled(cuda_ ? at::kCUDA : at::kCPU, on);
#else
    cuda_ ? at::autocast::set_enabled(on) : at::autocast::set_cpu_enabled(on);
#endif
  }
  bool on_, cuda_;
};

}  // namespace ria
