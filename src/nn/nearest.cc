// SPDX-License-Identifier: MIT
#include "nn/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "util/aligned.h"

namespace ria {

namespace {

constexpr int kBlock = 256;  // rows one thread takes: they stay in the L2 cache
constexpr float kNone = -std::numeric_limits<float>::infinity();

/// The largest products so far and where they were.
struct Best {
  AlignedBuffer<float> value;
  AlignedBuffer<std::int32_t> index;

  explicit Best(std::size_t size) : value(size), index(size) {
    std::fill_n(value.data(), size, kNone);
    std::fill_n(index.data(), size, -1);
  }
};

/// [panel][channel][lane]. Past the end the last row again, which wins nothing.
AlignedBuffer<float> to_panels(const Matrix& rows, int lanes) {
  const int count = rows.rows(), k = rows.cols();
  const int panels = (count + lanes - 1) / lanes;
  AlignedBuffer<float> packed(static_cast<std::size_t>(panels) * lanes * k);
#pragma omp parallel for schedule(static)
  for (int p = 0; p < panels; ++p) {
    float* to = packed.data() + static_cast<std::size_t>(p) * lanes * k;
    std::vector<const float*> from(lanes);
    for (int i = 0; i < lanes; ++i) from[i] = rows.row(std::min(p * lanes + i, count - 1)).data();
    for (int j = 0; j < k; ++j) {
      for (int i = 0; i < lanes; ++i) *to++ = from[i][j];
    }
  }
  return packed;
}

/// The first of the largest of each row's partial results.
void fold_rows(const Best& best, int count, int width, std::int32_t* nearest) {
  for (int r = 0; r < count; ++r) {
    const float* value = best.value.data() + r * width;
    const std::int32_t* index = best.index.data() + r * width;
    int at = 0;
    for (int i = 1; i < width; ++i) {
      if (value[i] > value[at] || (value[i] == value[at] && index[i] < index[at])) at = i;
    }
    nearest[r] = index[at];
  }
}

}  // namespace

NearestRows nearest_rows(const Matrix& a, const Matrix& b, const PanelKernels& kernels) {
  if (a.cols() != b.cols()) {
    throw std::invalid_argument(
        fmt::format("rows of {} and of {} values cannot be compared", a.cols(), b.cols()));
  }
  const int rows = a.rows(), columns = b.rows(), k = a.cols();
  NearestRows nearest{std::vector<std::int32_t>(rows, -1), std::vector<std::int32_t>(columns, -1)};
  if (rows == 0 || columns == 0) return nearest;

  const AlignedBuffer<float> panels = to_panels(b, kernels.lanes);
  const int padded = (columns + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  const int blocks = (rows + kBlock - 1) / kBlock;
  std::vector<Best> of_columns;
  for (int i = 0; i < blocks; ++i) of_columns.emplace_back(padded);
#pragma omp parallel for schedule(static)
  for (int block = 0; block < blocks; ++block) {
    const int first = block * kBlock, count = std::min(kBlock, rows - first);
    Best of_rows(static_cast<std::size_t>(kBlock) * kernels.width);
    for (int lane = 0; lane < padded; lane += kernels.lanes) {
      kernels.nearest({a.row(first).data(),
                       panels.data() + static_cast<std::size_t>(lane) * k,
                       count,
                       k,
                       first,
                       lane,
                       of_rows.value.data(),
                       of_rows.index.data(),
                       of_columns[block].value.data() + lane,
                       of_columns[block].index.data() + lane});
    }
    fold_rows(of_rows, count, kernels.width, nearest.of_a.data() + first);
  }
  // In the order of the rows, whoever was first to finish.
  std::vector<float> best(columns, kNone);
  for (const Best& part : of_columns) {
    for (int j = 0; j < columns; ++j) {
      if (part.value.data()[j] > best[j]) {
        best[j] = part.value.data()[j];
        nearest.of_b[j] = part.index.data()[j];
      }
    }
  }
  return nearest;
}

}  // namespace ria
