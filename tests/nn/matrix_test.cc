// SPDX-License-Identifier: MIT
#include "ria/matrix.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ria/eigen.h"

namespace ria {
namespace {

Matrix counted(int rows, int columns) {
  Matrix m(rows, columns);
  std::iota(m.values().begin(), m.values().end(), 0.0f);
  return m;
}

TEST(Matrix, RowsLieOneBehindTheOther) {
  Matrix m = counted(3, 4);
  EXPECT_EQ(m.size(), 12u);
  EXPECT_EQ(m(2, 1), 9);
  EXPECT_EQ(m.row(1).data(), m.data() + 4);
  EXPECT_EQ(m.row(1).size(), 4u);
  m.row(1)[2] = -1;
  EXPECT_EQ(m(1, 2), -1);
  EXPECT_EQ(m.values()[6], -1);
}

TEST(Matrix, StartsAsToldAndAtZero) {
  EXPECT_TRUE(Matrix().empty());
  EXPECT_EQ(Matrix(2, 2), Matrix(2, 2, {0, 0, 0, 0}));
  EXPECT_EQ(MatrixD(2, 1, 0.5), MatrixD(2, 1, {0.5, 0.5}));
  EXPECT_EQ(Matrix(0, 7).cols(), 7);
  EXPECT_THROW(Matrix(2, 2, {1, 2, 3}), std::invalid_argument);
}

TEST(Matrix, IsAnotherInAnotherShape) {
  const Matrix m = counted(2, 6);
  Matrix other = m;
  EXPECT_EQ(other, m);
  other.resize(3, 4);
  EXPECT_NE(other, m);
  EXPECT_EQ(other, counted(3, 4));
  other.resize(4, 4);
  EXPECT_EQ(other(2, 3), 11);
  EXPECT_EQ(other(3, 3), 0);
}

TEST(Matrix, IsSeenByEigenWhereItIs) {
  Matrix m = counted(3, 4);
  const Matrix& same = m;
  EXPECT_EQ(as_eigen(m).data(), m.data());
  EXPECT_EQ(as_eigen(same).data(), m.data());
  as_eigen(m).col(2) *= 10;
  EXPECT_EQ(m(1, 2), 60);
  as_eigen(m.row(0)).setConstant(7);
  EXPECT_EQ(as_eigen(same.row(0)).sum(), 28);
  Vector v = {3, 4};
  EXPECT_EQ(as_eigen(v).norm(), 5);
  as_eigen(v)[0] = 0;
  EXPECT_EQ(v[0], 0);
}

TEST(Matrix, OfNobodyIsCopiedForEigen) {
  static_assert(std::is_same_v<decltype(as_eigen(counted(1, 1))), EigenMatrix>);
  static_assert(std::is_same_v<decltype(as_eigen(VectorD{1})), EigenVectorD>);
  const auto kept = as_eigen(counted(2, 2));
  EXPECT_EQ(kept(1, 1), 3);
}

TEST(Matrix, ComesBackFromAnyExpression) {
  const Matrix m = counted(3, 4);
  EXPECT_EQ(to_matrix(as_eigen(m)), m);
  const Matrix turned = to_matrix(as_eigen(m).transpose());
  EXPECT_EQ(turned.rows(), 4);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) EXPECT_EQ(turned(j, i), m(i, j));
  }
  EXPECT_EQ(to_matrix(as_eigen(m) * as_eigen(turned))(0, 1), 0 * 4 + 1 * 5 + 2 * 6 + 3 * 7);
  EXPECT_EQ(to_matrix(as_eigen(m).array() + 1)(0, 0), 1);
  EXPECT_EQ(to_vector(as_eigen(m).row(1)), (Vector{4, 5, 6, 7}));
  EXPECT_EQ(to_vector(as_eigen(m).col(1)), (Vector{1, 5, 9}));
  EXPECT_EQ(to_vector(as_eigen(m).cast<double>().rowwise().sum()), (VectorD{6, 22, 38}));
}

}  // namespace
}  // namespace ria
