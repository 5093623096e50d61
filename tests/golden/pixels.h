// SPDX-License-Identifier: MIT
// Golden tensors in the shapes ria works with.
#pragma once

#include <gtest/gtest.h>

#include "ria/eigen.h"
#include "ria/features.h"
#include "ria/image.h"
#include "tensor/tensor.h"

namespace ria {

/// Item b of a [B, 3, H, W] tensor.
inline Pixels pixels_of(const Tensor& tensor, std::int64_t b = 0) {
  const std::vector<float> values = tensor.floats();
  const auto count = 3 * tensor.shape.at(2) * tensor.shape.at(3);
  return {static_cast<int>(tensor.shape[2]),
          static_cast<int>(tensor.shape[3]),
          {values.begin() + b * count, values.begin() + (b + 1) * count}};
}

/// Item b of a [B, C, H, W] tensor as one row a position.
inline Matrix rows_of_nchw(const Tensor& tensor, std::int64_t b) {
  const auto channels = tensor.shape.at(1), positions = tensor.shape.at(2) * tensor.shape.at(3);
  const std::vector<float> values = tensor.floats();
  return to_matrix(
      Eigen::Map<const EigenMatrix>(values.data() + b * channels * positions, channels, positions)
          .transpose());
}

/// Item b of a [B, ..., C] tensor as rows of C.
inline Matrix item_rows(const Tensor& tensor, std::int64_t b) {
  const std::vector<float> values = tensor.floats();
  const auto columns = tensor.shape.back(), rows = tensor.size() / tensor.shape.at(0) / columns;
  const auto first = values.begin() + b * rows * columns;
  return {static_cast<int>(rows),
          static_cast<int>(columns),
          std::vector<float>(first, first + rows * columns)};
}

/// Row b of a [B, D] tensor.
inline Vector row_of(const Tensor& tensor, std::int64_t b) {
  const std::vector<float> values = tensor.floats();
  const auto first = values.begin() + b * tensor.shape.at(1);
  return {first, first + tensor.shape.at(1)};
}

inline void expect_close(const EigenMatrix& actual, const EigenMatrix& expected, double tolerance) {
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.cols(), expected.cols());
  EXPECT_LE((actual - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>(), tolerance);
}
inline void expect_close(const Matrix& actual, const Matrix& expected, double tolerance) {
  expect_close(as_eigen(actual), as_eigen(expected), tolerance);
}
inline void expect_close(const Vector& actual, const Vector& expected, double tolerance) {
  expect_close(EigenMatrix(as_eigen(actual)), EigenMatrix(as_eigen(expected)), tolerance);
}

}  // namespace ria
