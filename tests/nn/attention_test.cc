// SPDX-License-Identifier: MIT
// Attention and its layers against their definitions in double.
#include "nn/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ria/backbone.h"

namespace ria {
namespace {

EigenMatrix random(Eigen::Index rows, Eigen::Index columns, unsigned seed, float scale = 1) {
  std::srand(seed);
  return scale * EigenMatrix::Random(rows, columns);
}

RowLinear random_linear(int inputs, int outputs, unsigned seed) {
  return {random(inputs, outputs, seed, 0.3f), random(outputs, 1, seed + 1).col(0)};
}

EigenMatrixD linear(const EigenMatrixD& x, const RowLinear& layer) {
  return (x * layer.turned.cast<double>()).rowwise() + layer.bias.cast<double>().transpose();
}

EigenMatrixD normalized(EigenMatrixD x, const RowNorm& norm) {
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    x.row(i).array() -= x.row(i).mean();
    x.row(i) /= std::sqrt(x.row(i).squaredNorm() / static_cast<double>(x.cols()) + norm.eps);
  }
  x = x * norm.weight.cast<double>().asDiagonal();
  return x.rowwise() + norm.bias.cast<double>().transpose();
}

/// Row by row and head by head.
EigenMatrixD attended(const EigenMatrixD& x,
                      const EigenMatrixD& memory,
                      const RowAttention& layer,
                      int groups) {
  const Eigen::Index dim = layer.dim(), head = dim / layer.heads;
  const EigenMatrixD q = linear(x, layer.in).leftCols(dim);
  const EigenMatrixD k = linear(memory, layer.in).middleCols(dim, dim);
  const EigenMatrixD v = linear(memory, layer.in).rightCols(dim);
  const Eigen::Index rows = x.rows() / groups, seen = memory.rows() / groups;
  EigenMatrixD out(x.rows(), dim);
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const Eigen::Index first = i / rows * seen;
    for (Eigen::Index h = 0; h < dim; h += head) {
      EigenVectorD score = k.block(first, h, seen, head) * q.row(i).segment(h, head).transpose();
      score = (score.array() / std::sqrt(static_cast<double>(head))).exp();
      out.row(i).segment(h, head) =
          (score / score.sum()).transpose() * v.block(first, h, seen, head);
    }
  }
  return linear(out, layer.out);
}

RowAttention random_attention(int dim, int heads) {
  return {random_linear(dim, 3 * dim, 5), random_linear(dim, dim, 9), heads};
}

void expect_near(const EigenMatrix& actual, const EigenMatrixD& expected, double tolerance) {
  ASSERT_EQ(actual.rows(), expected.rows());
  EXPECT_LE((actual.cast<double>() - expected).cwiseAbs().maxCoeff(), tolerance);
}

TEST(RowAttention, EqualsItsDefinition) {
  for (const int heads : {1, 3, 6}) {
    for (const int groups : {1, 2, 5}) {
      const RowAttention layer = random_attention(24, heads);
      // More queries than are scored at a time.
      const EigenMatrix x = random(groups * 150, 24, 1), memory = random(groups * 7, 24, 2);
      expect_near(
          layer.self(x, groups), attended(x.cast<double>(), x.cast<double>(), layer, groups), 1e-5);
      expect_near(layer.attend(layer.queries(x), memory, groups),
                  attended(x.cast<double>(), memory.cast<double>(), layer, groups),
                  1e-5);
    }
  }
}

TEST(RowAttention, EncoderLayerEqualsItsDefinition) {
  RowEncoderLayer layer{random_attention(16, 4),
                        {random(16, 1, 3).col(0), random(16, 1, 4).col(0)},
                        {random(16, 1, 6).col(0), random(16, 1, 7).col(0)},
                        random_linear(16, 40, 11),
                        random_linear(40, 16, 13),
                        relu};
  const EigenMatrix x = random(30, 16, 8);
  for (const bool smooth : {false, true}) {
    layer.activation = smooth ? gelu : relu;
    const auto act = [&](double v) {
      return smooth ? 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))) : std::max(v, 0.0);
    };
    EigenMatrixD y = x.cast<double>();
    y = normalized(y + attended(y, y, layer.attention, 3), layer.norm1);
    y = normalized(y + linear(linear(y, layer.up).unaryExpr(act), layer.down), layer.norm2);
    EigenMatrix actual = x;
    layer.run(actual, 3);
    expect_near(actual, y, 2e-5);
  }
}

TEST(RowAttention, SameBitsOnAnyNumberOfCores) {
  const RowAttention layer = random_attention(48, 4);
  const EigenMatrix x = random(300, 48, 1);
  set_thread_cores(1);
  const EigenMatrix alone = layer.self(x);
  set_thread_cores(0);
  EXPECT_EQ(alone, layer.self(x));
}

}  // namespace
}  // namespace ria
