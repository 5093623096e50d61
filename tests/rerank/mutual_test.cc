// SPDX-License-Identifier: MIT
#include "rerank/mutual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "nn/nearest.h"
#include "ria/backbone.h"
#include "ria/eigen.h"
#include "support/all_kernels.h"

namespace ria {

namespace {

using Pairs = std::vector<std::pair<int, int>>;

Matrix random_rows(int rows, int columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Matrix x(rows, columns);
  for (float& value : x.values()) value = normal(engine);
  as_eigen(x).rowwise().normalize();
  return x;
}

/// Small whole numbers: every product is exact in any order, and many are equal.
Matrix whole_rows(int rows, int columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> whole(-2, 2);
  Matrix x(rows, columns);
  for (float& value : x.values()) value = static_cast<float>(whole(engine));
  return x;
}

NearestRows brute_force(const Matrix& a, const Matrix& b) {
  const EigenMatrixD products = as_eigen(a).cast<double>() * as_eigen(b).cast<double>().transpose();
  NearestRows nearest{std::vector<std::int32_t>(a.rows(), -1),
                      std::vector<std::int32_t>(b.rows(), -1)};
  for (int i = 0; i < a.rows() && b.rows() > 0; ++i) {
    nearest.of_a[i] = 0;
    for (int j = 1; j < b.rows(); ++j)
      if (products(i, j) > products(i, nearest.of_a[i])) nearest.of_a[i] = j;
  }
  for (int j = 0; j < b.rows() && a.rows() > 0; ++j) {
    nearest.of_b[j] = 0;
    for (int i = 1; i < a.rows(); ++i)
      if (products(i, j) > products(nearest.of_b[j], j)) nearest.of_b[j] = i;
  }
  return nearest;
}

Pairs mutual(const NearestRows& nearest) {
  Pairs pairs;
  for (int i = 0; i < static_cast<int>(nearest.of_a.size()); ++i)
    if (nearest.of_a[i] >= 0 && nearest.of_b[nearest.of_a[i]] == i)
      pairs.emplace_back(i, nearest.of_a[i]);
  return pairs;
}

class NearestRowsTest : public testing::TestWithParam<const PanelKernels*> {};

TEST_P(NearestRowsTest, EqualsBruteForceWithTies) {
  constexpr int kSizes[][3] = {
      {1, 1, 1}, {1, 50, 3}, {50, 1, 3}, {7, 25, 4}, {48, 24, 5}, {255, 49, 2}, {600, 301, 3}};
  for (const auto& [rows, columns, k] : kSizes) {
    const Matrix a = whole_rows(rows, k, 1), b = whole_rows(columns, k, 2);
    const NearestRows actual = nearest_rows(a, b, *GetParam()), expected = brute_force(a, b);
    EXPECT_EQ(actual.of_a, expected.of_a) << rows << " x " << columns;
    EXPECT_EQ(actual.of_b, expected.of_b) << rows << " x " << columns;
  }
}

TEST_P(NearestRowsTest, LooksPastProductsBelowZero) {
  // Rows that are all opposed: padding that counts as zero would win.
  const Matrix a = to_matrix(-as_eigen(whole_rows(5, 3, 1)).array().abs() - 1);
  const Matrix b = to_matrix(as_eigen(whole_rows(3, 3, 2)).array().abs() + 1);
  const NearestRows actual = nearest_rows(a, b, *GetParam()), expected = brute_force(a, b);
  EXPECT_EQ(actual.of_a, expected.of_a);
  EXPECT_EQ(actual.of_b, expected.of_b);
}

TEST_P(NearestRowsTest, NanIsNobodysNeighbour) {
  Matrix a = random_rows(30, 8, 1);
  const Matrix b = random_rows(40, 8, 2);
  a(4, 2) = std::numeric_limits<float>::quiet_NaN();
  const NearestRows nearest = nearest_rows(a, b, *GetParam());
  EXPECT_EQ(nearest.of_a[4], -1);
  EXPECT_EQ(std::count(nearest.of_b.begin(), nearest.of_b.end(), 4), 0);
}

INSTANTIATE_TEST_SUITE_P(Cpus,
                         NearestRowsTest,
                         testing::ValuesIn(all_kernels()),
                         [](const auto& info) { return info.param->name; });

TEST(MutualNeighbours, EqualBruteForce) {
  const Matrix a = random_rows(510, 64, 1), b = random_rows(690, 64, 2);
  const Pairs pairs = mutual_neighbours(a, b);
  EXPECT_EQ(pairs, mutual(brute_force(a, b)));
  EXPECT_GT(pairs.size(), 50u);
}

TEST(MutualNeighbours, NoneOfNothing) {
  EXPECT_TRUE(mutual_neighbours(Matrix(0, 8), random_rows(5, 8, 1)).empty());
  EXPECT_TRUE(mutual_neighbours(random_rows(5, 8, 1), Matrix(0, 8)).empty());
}

TEST(MutualNeighbours, OfOneWidthOnly) {
  EXPECT_THROW(mutual_neighbours(random_rows(5, 8, 1), random_rows(5, 9, 1)),
               std::invalid_argument);
}

}  // namespace
}  // namespace ria
