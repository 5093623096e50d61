// SPDX-License-Identifier: MIT
// Golden tensors in the shapes ria works with.
#pragma once

#include <gtest/gtest.h>

#include "ria/features.h"
#include "ria/image.h"
#include "weights/tensor.h"

namespace ria {

/// A [1, 3, H, W] tensor.
inline Pixels pixels_of(const Tensor& tensor) {
  return {
      static_cast<int>(tensor.shape.at(2)), static_cast<int>(tensor.shape.at(3)), tensor.floats()};
}

/// Item b of a [B, C, H, W] tensor as one row a position.
inline Matrix rows_of_nchw(const Tensor& tensor, std::int64_t b) {
  const auto channels = tensor.shape.at(1), positions = tensor.shape.at(2) * tensor.shape.at(3);
  const std::vector<float> values = tensor.floats();
  return Eigen::Map<const Matrix>(values.data() + b * channels * positions, channels, positions)
      .transpose();
}

/// Row b of a [B, D] tensor.
inline Vector row_of(const Tensor& tensor, std::int64_t b) {
  const std::vector<float> values = tensor.floats();
  return Eigen::Map<const Vector>(values.data() + b * tensor.shape.at(1), tensor.shape.at(1));
}

template <typename A, typename B>
void expect_close(const A& actual, const B& expected, double tolerance) {
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.cols(), expected.cols());
  EXPECT_LE((actual - expected).cwiseAbs().template maxCoeff<Eigen::PropagateNaN>(), tolerance);
}

}  // namespace ria
