// SPDX-License-Identifier: MIT
#pragma once

#include "ria/features.h"
#include "tensor/tensor.h"

namespace ria {

/// A tensor of two axes.
inline Matrix matrix_of(const Tensor& tensor) {
  return {
      static_cast<int>(tensor.shape.at(0)), static_cast<int>(tensor.shape.at(1)), tensor.floats()};
}

}  // namespace ria
