// SPDX-License-Identifier: MIT
#include "nn/attention.h"

#include <cmath>

#include "kernel/panel_kernels.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

constexpr Eigen::Index kRows = 64;      // a core's share of few rows
constexpr Eigen::Index kQueries = 128;  // whose scores are held at a time

EigenMatrix linear(const MatrixView& x, const MatrixView& turned, const EigenVector& bias) {
  EigenMatrix y(x.rows(), turned.cols());
  // Every product packs all of the weights: many rows go in large blocks.
  const Eigen::Index block = x.rows() <= 4 * kRows ? kRows : 4 * kRows;
  for_row_blocks(x.rows(), block, [&](Eigen::Index first, Eigen::Index count) {
    multiply(x.middleRows(first, count), turned, 0, y.middleRows(first, count));
    y.middleRows(first, count).rowwise() += bias.transpose();
  });
  return y;
}

/// softmax(queries keys^T / sqrt(channels)) values for some queries of one head.
void look_head(const MatrixView& queries,
               const EigenMatrix& turned_keys,
               const MatrixView& values,
               MatrixSpan out) {
  EigenMatrix scores(queries.rows(), turned_keys.cols());
  multiply(queries, turned_keys, 0, scores);
  const float scale = 1 / std::sqrt(static_cast<float>(queries.cols()));
  const PanelKernels& kernels = *panel_kernels().front();
  EigenVector sums(scores.rows());
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    sums[i] = kernels.softmax_row(scores.row(i).data(), scores.cols(), scale);
  }
  multiply(scores, values, 0, out);
  out.array().colwise() /= sums.array();
}

}  // namespace

EigenMatrix RowLinear::run(const MatrixView& x) const { return linear(x, turned, bias); }

void RowNorm::run(EigenMatrix& x) const {
  for_row_blocks(x.rows(), kRows, [&](Eigen::Index first, Eigen::Index count) {
    for (Eigen::Index i = first; i < first + count; ++i) {
      const double mean = x.row(i).cast<double>().mean();
      x.row(i).array() -= static_cast<float>(mean);
      const double variance = x.row(i).cast<double>().squaredNorm() / static_cast<double>(x.cols());
      const auto scale = static_cast<float>(1 / std::sqrt(variance + eps));
      x.row(i) =
          (x.row(i).array() * scale * weight.transpose().array()).matrix() + bias.transpose();
    }
  });
}

void relu(EigenMatrix& x) { x = x.cwiseMax(0.0f); }

void gelu(EigenMatrix& x) {
  x = x.unaryExpr(
      [](float v) { return 0.5f * v * (1 + std::erf(v * static_cast<float>(M_SQRT1_2))); });
}

EigenMatrix RowAttention::queries(const MatrixView& x) const {
  return linear(x, in.turned.leftCols(dim()), in.bias.head(dim()));
}

EigenMatrix RowAttention::attend(const MatrixView& queries,
                                 const MatrixView& memory,
                                 int groups) const {
  const EigenMatrix both = linear(memory, in.turned.rightCols(2 * dim()), in.bias.tail(2 * dim()));
  return look(queries, both.leftCols(dim()), both.rightCols(dim()), groups);
}

EigenMatrix RowAttention::self(const MatrixView& x, int groups) const {
  const EigenMatrix all = in.run(x);
  return look(all.leftCols(dim()), all.middleCols(dim(), dim()), all.rightCols(dim()), groups);
}

EigenMatrix RowAttention::look(const MatrixView& queries,
                               const MatrixView& keys,
                               const MatrixView& values,
                               int groups) const {
  const Eigen::Index rows = queries.rows() / groups, seen = keys.rows() / groups;
  const Eigen::Index head = dim() / heads, blocks = (rows + kQueries - 1) / kQueries;
  EigenMatrix looked(queries.rows(), dim());
  for_row_blocks(groups * heads, 1, [&](Eigen::Index task, Eigen::Index) {
    const Eigen::Index group = task / heads, column = task % heads * head;
    const EigenMatrix turned_keys = keys.block(group * seen, column, seen, head).transpose();
    for (Eigen::Index b = 0; b < blocks; ++b) {
      const Eigen::Index first = group * rows + b * kQueries;
      const Eigen::Index count = std::min(kQueries, rows - b * kQueries);
      look_head(queries.block(first, column, count, head),
                turned_keys,
                values.block(group * seen, column, seen, head),
                looked.block(first, column, count, head));
    }
  });
  return out.run(looked);
}

void RowEncoderLayer::run(EigenMatrix& x, int groups) const {
  x += attention.self(x, groups);
  norm1.run(x);
  EigenMatrix hidden = up.run(x);
  activation(hidden);
  x += down.run(hidden);
  norm2.run(x);
}

}  // namespace ria
