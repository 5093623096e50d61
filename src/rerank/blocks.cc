// SPDX-License-Identifier: MIT
#include "rerank/blocks.h"

#include <algorithm>
#include <cstdlib>

namespace ria {

namespace {

/// 1 / the weights of the places beside each of `size` that exist.
void inverse_weights(int size, const std::vector<float>& fall, std::vector<float>& out) {
  const int radius = static_cast<int>(fall.size()) / 2;
  out.resize(size);
  for (int at = 0; at < size; ++at) {
    float sum = 0;
    for (int i = -radius; i <= radius; ++i) {
      if (at + i >= 0 && at + i < size) sum += fall[i + radius];
    }
    out[at] = 1 / sum;
  }
}

}  // namespace

void BlockMatcher::Side::reset(const BitGrid& grid, const std::vector<float>& fall) {
  inverse_weights(grid.height, fall, of_row);
  inverse_weights(grid.width, fall, of_column);
  best.assign(grid.cells(), 0.0f);
  textured.resize(grid.cells());
  for (int cell = 0; cell < grid.cells(); ++cell) textured[cell] = grid.flat(cell) ? 0.0f : 1.0f;
}

double BlockMatcher::Side::squares() const {
  double sum = 0;
  for (const float value : best) sum += static_cast<double>(value) * value;
  return sum;
}

double BlockMatcher::alike(const BitGrid& a, const BitGrid& b, int down, int right, int radius) {
  fall_.resize(2 * radius + 1);
  for (int i = -radius; i <= radius; ++i) {
    fall_[i + radius] = static_cast<float>(radius + 1 - std::abs(i));
  }
  a_.reset(a, fall_);
  b_.reset(b, fall_);
  for (int i = -radius; i <= radius; ++i) {
    for (int j = -radius; j <= radius; ++j) try_displacement(a, b, down + i, right + j);
  }
  return (a_.squares() + b_.squares()) / (a.cells() + b.cells());
}

/// Of all cells that meet.
void BlockMatcher::try_displacement(const BitGrid& a, const BitGrid& b, int down, int right) {
  const int top = std::max(0, -down), bottom = std::min(a.height, b.height - down);
  const int left = std::max(0, -right), count = std::min(a.width, b.width - right) - left;
  if (top >= bottom || count < 1) return;
  const int taps = static_cast<int>(fall_.size()), radius = taps / 2, rows = bottom - top;
  // Zeros all around, so that no border needs care, and whole vectors can be read.
  const int stride = (count / kernels_.width + 1) * kernels_.width;
  likeness_.assign(stride + 2 * radius, 0.0f);
  across_.assign(static_cast<std::size_t>(rows + 2 * radius) * stride, 0.0f);
  distances_.resize(count);
  sum_.resize(stride);
  const float per_bit = 1.0f / static_cast<float>(16 * a.words);
  for (int r = 0; r < rows; ++r) {
    const int from = (top + r) * a.width + left;
    const int to = (top + r + down) * b.width + left + right;
    kernels_.row_distances(a.row(from), b.row(to), count, a.words, distances_.data());
    float* likeness = likeness_.data() + radius;
    const float *of_a = &a_.textured[from], *of_b = &b_.textured[to];
    for (int x = 0; x < count; ++x) {
      likeness[x] = (1 - per_bit * static_cast<float>(distances_[x])) * of_a[x] * of_b[x];
    }
    float* out = across_.data() + static_cast<std::size_t>(r + radius) * stride;
    kernels_.weighted_sum(likeness_.data(), 1, fall_.data(), taps, count, out);
  }
  for (int r = 0; r < rows; ++r) {
    const float* first = across_.data() + static_cast<std::size_t>(r) * stride;
    kernels_.weighted_sum(first, stride, fall_.data(), taps, count, sum_.data());
    take_better(a_, top + r, left, a.width, count);
    take_better(b_, top + r + down, left + right, b.width, count);
  }
}

/// The sums of one row, where they are larger than what was found so far.
void BlockMatcher::take_better(Side& side, int row, int left, int width, int count) {
  float* best = &side.best[static_cast<std::size_t>(row) * width + left];
  const float scale = side.of_row[row];
  const float* columns = &side.of_column[left];
  for (int x = 0; x < count; ++x) {
    const float value = sum_[x] * scale * columns[x];
    best[x] = value > best[x] ? value : best[x];
  }
}

}  // namespace ria
