// SPDX-License-Identifier: MIT
// torchvision tensors under Keras names, kernels HWIO: what a converter must undo.
#pragma once

#include "tensor/tensor.h"

namespace ria {

inline Tensor to_hwio(const Tensor& oihw) {
  const std::vector<float> from = oihw.floats();
  const auto out = oihw.shape.at(0), in = oihw.shape.at(1);
  const auto pixels = oihw.shape.at(2) * oihw.shape.at(3);
  std::vector<float> to(from.size());
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        to[(p * in + i) * out + o] = from[(o * in + i) * pixels + p];
      }
    }
  }
  return make_tensor({oihw.shape[2], oihw.shape[3], in, out}, to);
}

}  // namespace ria
