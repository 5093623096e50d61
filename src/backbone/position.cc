// SPDX-License-Identifier: MIT
#include "backbone/position.h"

#include <algorithm>

#include "image/resize.h"
#include "ria/eigen.h"

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
  Matrix out(1 + height * width, table.cols());
  std::ranges::copy(table.row(0), out.row(0).begin());
  Matrix narrow(side * width, table.cols());  // columns first
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < width; ++x) {
      auto sum = as_eigen(narrow.row(y * width + x));
      for (int k = 0; k < columns.count[x]; ++k) {
        sum += columns.of(x)[k] * as_eigen(table.row(1 + y * side + columns.first[x] + k));
      }
    }
  }
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      auto sum = as_eigen(out.row(1 + y * width + x));
      for (int k = 0; k < rows.count[y]; ++k) {
        sum += rows.of(y)[k] * as_eigen(narrow.row((rows.first[y] + k) * width + x));
      }
    }
  }
  return out;
}

}  // namespace ria
