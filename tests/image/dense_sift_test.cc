// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "ria/image.h"
#include "support/sample_images.h"

namespace ria {
namespace {

/// Grey planes of a function of row and column.
Pixels painted(int height, int width, const std::function<float(int, int)>& value) {
  Pixels pixels{height, width, {}};
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) pixels.chw.push_back(value(y, x));
    }
  }
  return pixels;
}

/// Sums over everything but the orientation.
std::array<double, 8> by_orientation(const DenseSift& sift) {
  std::array<double, 8> sums{};
  for (std::size_t i = 0; i < sift.histograms.size(); ++i) sums[i % 8] += sift.histograms[i];
  return sums;
}

TEST(DenseSiftLaws, EdgeFillsItsOrientation) {
  // Where it gets brighter: right, up, left, down are bins 0, 2, 4, 6.
  const std::function<float(int, int)> edges[] = {
      [](int, int x) { return x < 16 ? 0.0f : 100.0f; },
      [](int y, int) { return y < 16 ? 100.0f : 0.0f; },
      [](int, int x) { return x < 16 ? 100.0f : 0.0f; },
      [](int y, int) { return y < 16 ? 0.0f : 100.0f; }};
  for (int edge = 0; edge < 4; ++edge) {
    const auto sums = by_orientation(dense_sift(painted(32, 32, edges[edge]), 4, 4.0f));
    const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
    EXPECT_GT(sums[edge * 2], 0.999 * total) << edge;
    EXPECT_GT(total, 0.0);
  }
}

TEST(DenseSiftLaws, DiagonalIsBinOneAndBetweenIsShared) {
  const auto diagonal = by_orientation(
      dense_sift(painted(32, 32, [](int y, int x) { return float(x - y); }), 4, 4.0f));
  EXPECT_NEAR(diagonal[0] / diagonal[1], 0.0, 0.02);
  const float half = std::tan(std::acos(-1.0f) / 8.0f);  // 22.5 degrees
  const auto shared = by_orientation(
      dense_sift(painted(64, 64, [&](int y, int x) { return float(x) - half * y; }), 64, 4.0f));
  EXPECT_NEAR(shared[0] / shared[1], 1.0, 0.05);
}

TEST(DenseSiftLaws, EdgeIsInItsCell) {
  // One window of 4 cells of 8 pixels; the gradient is in columns 19 and 20, in the third cell.
  const DenseSift sift =
      dense_sift(painted(32, 32, [](int, int x) { return x < 20 ? 0.0f : 100.0f; }), 8, 8.0f);
  ASSERT_EQ(sift.grid_height * sift.grid_width, 1);
  std::array<double, 4> columns{};
  for (int i = 0; i < 128; ++i) columns[i / 8 % 4] += sift.histograms[i];
  EXPECT_EQ(std::max_element(columns.begin(), columns.end()) - columns.begin(), 2);
  EXPECT_EQ(columns[0], 0.0);
}

TEST(DenseSiftLaws, ShiftByStepShiftsTheGrid) {
  const Image image = noise(64, 80);
  const Pixels pixels = to_pixels(image, Normalization::kRaw);
  const Pixels moved =
      painted(64, 80, [&](int y, int x) { return pixels.at(0, (y + 5) % 64, (x + 5) % 80); });
  const Pixels still = painted(64, 80, [&](int y, int x) { return pixels.at(0, y, x); });
  const DenseSift a = dense_sift(still, 5, 4.0f);
  const DenseSift b = dense_sift(moved, 5, 4.0f);
  ASSERT_EQ(a.grid_height, (64 - 16) / 5 + 1);
  ASSERT_EQ(a.grid_width, (80 - 16) / 5 + 1);
  ASSERT_EQ(a.histograms.size(), static_cast<std::size_t>(a.grid_height) * a.grid_width * 128);
  for (int gy = 1; gy + 3 < a.grid_height; ++gy) {
    for (int gx = 1; gx + 3 < a.grid_width; ++gx) {
      const float* from = &a.histograms[((gy + 1) * a.grid_width + gx + 1) * 128];
      const float* to = &b.histograms[(gy * b.grid_width + gx) * 128];
      for (int i = 0; i < 128; ++i) ASSERT_NEAR(from[i], to[i], 1e-2f) << gy << " " << gx;
    }
  }
}

TEST(DenseSiftLaws, FlatIsZeroSmallIsOnePoint) {
  const DenseSift flat = dense_sift(painted(40, 40, [](int, int) { return 77.0f; }), 8, 4.0f);
  EXPECT_TRUE(std::all_of(
      flat.histograms.begin(), flat.histograms.end(), [](float v) { return v == 0.0f; }));
  for (const int size : {1, 2, 7, 15}) {
    const DenseSift small =
        dense_sift(painted(size, size, [](int y, int x) { return float(3 * x + y); }), 8, 4.0f);
    EXPECT_EQ(small.grid_height * small.grid_width, 1);
    ASSERT_EQ(small.histograms.size(), 128u);
    for (const float value : small.histograms) EXPECT_GE(value, 0.0f);
  }
  EXPECT_THROW(dense_sift(Pixels{}, 8, 4.0f), std::invalid_argument);
  const Pixels pixels = painted(8, 8, [](int, int) { return 0.0f; });
  EXPECT_THROW(dense_sift(pixels, 0, 4.0f), std::invalid_argument);
  EXPECT_THROW(dense_sift(pixels, 8, 0.0f), std::invalid_argument);
  EXPECT_THROW(dense_sift(pixels, 8, std::nanf("")), std::invalid_argument);
}

}  // namespace
}  // namespace ria
