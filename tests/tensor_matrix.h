// SPDX-License-Identifier: MIT
#pragma once

#include "ria/features.h"
#include "weights/tensor.h"

namespace ria {

/// A tensor of two axes.
inline Matrix matrix_of(const Tensor& tensor) {
  const std::vector<float> values = tensor.floats();
  return Eigen::Map<const Matrix>(values.data(), tensor.shape.at(0), tensor.shape.at(1));
}

inline Vector vector_of(const Tensor& tensor) {
  const std::vector<float> values = tensor.floats();
  return Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
}

}  // namespace ria
