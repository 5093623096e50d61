// SPDX-License-Identifier: MIT
#include "backbone/position.h"

#include "image/resize.h"

namespace ria {

namespace {

/// The weights of one axis.
Taps axis(int side, int size, PositionRule rule) {
  if (rule == PositionRule::kReg) return tensor_taps(side, size, Resize::kTensorBicubicAa);
  // The published code hands the kernel a scale factor of (n + 0.1) / M, and the kernel steps by
  // its inverse instead of the ratio of the sizes.
  const double step = rule == PositionRule::kHub ? 1.0 / ((size + 0.1) / side) : 0.0;
  return tensor_taps(side, size, Resize::kTensorBicubic, step);
}

}  // namespace

Matrix resize_positions(const Matrix& table, int side, int height, int width, PositionRule rule) {
  if (height == side && width == side) return table;
  const Taps rows = axis(side, height, rule), columns = axis(side, width, rule);
  const Eigen::Index dim = table.cols();
  Matrix out(1 + static_cast<Eigen::Index>(height) * width, dim);
  out.row(0) = table.row(0);
  Matrix narrow(static_cast<Eigen::Index>(side) * width, dim);  // columns first
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < width; ++x) {
      auto sum = narrow.row(static_cast<Eigen::Index>(y) * width + x);
      sum.setZero();
      for (int k = 0; k < columns.count[x]; ++k) {
        sum += columns.of(x)[k] * table.row(1 + y * side + columns.first[x] + k);
      }
    }
  }
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      auto sum = out.row(1 + static_cast<Eigen::Index>(y) * width + x);
      sum.setZero();
      for (int k = 0; k < rows.count[y]; ++k) {
        sum += rows.of(y)[k] * narrow.row(static_cast<Eigen::Index>(rows.first[y] + k) * width + x);
      }
    }
  }
  return out;
}

}  // namespace ria
