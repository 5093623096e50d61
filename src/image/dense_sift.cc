// SPDX-License-Identifier: MIT
// Upright SIFT histograms on a grid. The gradient magnitude of each pixel is split between the two
// nearest of 8 orientations; a cell's value is the sum under a triangle of two cells' width, which
// is SIFT's bilinear share between cells. Both sums are separable, so they are taken only at the
// columns and rows where some cell has its centre.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "image/resize.h"
#include "util/multiversion.h"

namespace ria {

namespace {

constexpr int kCells = 4;
constexpr int kBins = 8;

/// Cell centres of one axis as weights over its pixels: grid point g, cell i at row g * 4 + i.
struct AxisCells {
  int points = 0;
  Taps taps;
};

// SIFT's Gaussian window (sigma: half the window's width) taken as constant over a cell.
float window_weight(int cell_index) {
  const double distance = (cell_index - 1.5) / 2.0;
  return static_cast<float>(std::exp(-0.5 * distance * distance));
}

// Pixel x covers x - 0.5 .. x + 0.5. Beyond the border the border's gradient goes on.
AxisCells axis_cells(int size, int step, float cell) {
  const double window = static_cast<double>(kCells) * cell;
  AxisCells axis;
  const bool fits = window <= size;
  axis.points = fits ? static_cast<int>((size - window) / step) + 1 : 1;
  const double first_point = (fits ? window : size) / 2.0 - 0.5;
  axis.taps.stride = std::min(size, static_cast<int>(std::ceil(2.0 * cell)) + 1);
  axis.taps.weight.assign(static_cast<std::size_t>(axis.points) * kCells * axis.taps.stride, 0.0f);
  for (int i = 0; i < axis.points * kCells; ++i) {
    const double center =
        first_point + static_cast<double>(i / kCells) * step + (i % kCells - 1.5) * cell;
    const int first = static_cast<int>(std::ceil(center - cell));
    const int last = static_cast<int>(std::floor(center + cell));
    const int begin = std::clamp(first, 0, size - 1);
    float* weight = axis.taps.weight.data() + static_cast<std::size_t>(i) * axis.taps.stride;
    for (int x = first; x <= last; ++x) {
      const double share = 1.0 - std::abs(x - center) / cell;
      weight[std::clamp(x, 0, size - 1) - begin] +=
          static_cast<float>(share) * window_weight(i % kCells);
    }
    axis.taps.first.push_back(begin);
    axis.taps.count.push_back(std::clamp(last, 0, size - 1) - begin + 1);
  }
  return axis;
}

std::vector<float> grey(const Pixels& pixels) {
  const std::size_t area = static_cast<std::size_t>(pixels.height) * pixels.width;
  std::vector<float> out(area);
  const float* red = pixels.chw.data();
  const float* green = red + area;
  const float* blue = green + area;
  for (std::size_t i = 0; i < area; ++i) {
    out[i] = 0.299f * red[i] + 0.587f * green[i] + 0.114f * blue[i];
  }
  return out;
}

/// Magnitude, and angle in bins (0..8, counter-clockwise from the right, as SIFT counts).
RIA_MULTIVERSION
void polar(const float* dx, const float* dy, int size, float* magnitude, float* angle) {
  for (int i = 0; i < size; ++i) {
    const float x = dx[i];
    const float y = dy[i];
    const float ax = std::abs(x);
    const float ay = std::abs(y);
    // A minimax polynomial of the arc tangent on 0..1 (error 1e-5): std::atan2 does not vectorise.
    const float ratio = std::min(ax, ay) / (std::max(ax, ay) + 1e-20f);
    const float s = ratio * ratio;
    float a = -0.01172120f;
    a = a * s + 0.05265332f;
    a = a * s - 0.11643287f;
    a = a * s + 0.19354346f;
    a = a * s - 0.33262347f;
    a = a * s + 0.99997726f;
    a *= ratio * static_cast<float>(kBins / 2 / std::numbers::pi);
    a = ay > ax ? 2.0f - a : a;
    a = x < 0.0f ? 4.0f - a : a;
    angle[i] = y < 0.0f ? 8.0f - a : a;
    magnitude[i] = std::sqrt(x * x + y * y);
  }
}

/// Each pixel's magnitude as 8 shares of which at most two are not zero.
RIA_MULTIVERSION
void split(const float* magnitude, const float* angle, int size, float* shares) {
  for (int i = 0; i < size; ++i) {
    for (int bin = 0; bin < kBins; ++bin) {
      float distance = std::abs(angle[i] - static_cast<float>(bin));
      distance = std::min(distance, kBins - distance);
      shares[i * kBins + bin] = magnitude[i] * std::max(0.0f, 1.0f - distance);
    }
  }
}

using Bins = float __attribute__((vector_size(kBins * sizeof(float)), aligned(alignof(float))));

RIA_MULTIVERSION
void sum_cells(const float* shares, const Taps& taps, float* destination) {
  for (int i = 0; i < taps.size(); ++i) {
    const float* in = shares + static_cast<std::size_t>(taps.first[i]) * kBins;
    const float* weight = taps.of(i);
    Bins sum = {};
    for (int k = 0; k < taps.count[i]; ++k) {
      sum += *reinterpret_cast<const Bins*>(in + k * kBins) * weight[k];
    }
    *reinterpret_cast<Bins*>(destination + static_cast<std::size_t>(i) * kBins) = sum;
  }
}

/// Every picture row summed at the columns' cell centres: [row][column cell][bin].
std::vector<float> sum_horizontally(const Pixels& pixels, const Taps& columns) {
  const int height = pixels.height;
  const int width = pixels.width;
  const std::vector<float> picture = grey(pixels);
  const std::size_t row = static_cast<std::size_t>(columns.size()) * kBins;
  std::vector<float> sums(height * row);
  std::vector<float> dx(width), dy(width), magnitude(width), angle(width), shares(width * kBins);
  for (int y = 0; y < height; ++y) {
    const float* here = picture.data() + static_cast<std::size_t>(y) * width;
    const float* above = y > 0 ? here - width : here;
    const float* below = y + 1 < height ? here + width : here;
    for (int x = 0; x < width; ++x) dy[x] = above[x] - below[x];
    for (int x = 1; x + 1 < width; ++x) dx[x] = here[x + 1] - here[x - 1];
    dx[0] = here[std::min(1, width - 1)] - here[0];
    dx[width - 1] = here[width - 1] - here[std::max(0, width - 2)];
    polar(dx.data(), dy.data(), width, magnitude.data(), angle.data());
    split(magnitude.data(), angle.data(), width, shares.data());
    sum_cells(shares.data(), columns, sums.data() + y * row);
  }
  return sums;
}

}  // namespace

DenseSift dense_sift(const Pixels& pixels, int step, float cell) {
  check_pixels(pixels);
  if (step < 1) throw std::invalid_argument(fmt::format("step is {}, must be at least 1", step));
  if (!(cell >= 1.0f && cell < 1e6f)) {
    throw std::invalid_argument(fmt::format("cell is {}, must be at least 1 pixel", cell));
  }
  const AxisCells columns = axis_cells(pixels.width, step, cell);
  const AxisCells rows = axis_cells(pixels.height, step, cell);
  const std::vector<float> sums = sum_horizontally(pixels, columns.taps);

  constexpr int kLine = kCells * kBins;  // one cell row of one point, contiguous in `line`
  const int row = columns.points * kLine;
  std::vector<float> line(row);
  DenseSift out{rows.points, columns.points, {}};
  out.histograms.resize(static_cast<std::size_t>(rows.points) * columns.points * kCells * kLine);
  for (int i = 0; i < rows.taps.size(); ++i) {
    const std::size_t first = static_cast<std::size_t>(rows.taps.first[i]) * row;
    sum_rows(sums.data() + first, row, rows.taps.of(i), rows.taps.count[i], line.data());
    const std::size_t first_point = static_cast<std::size_t>(i / kCells) * columns.points;
    for (int g = 0; g < columns.points; ++g) {
      const std::size_t to = ((first_point + g) * kCells + i % kCells) * kLine;
      std::copy_n(
          line.data() + static_cast<std::size_t>(g) * kLine, kLine, out.histograms.data() + to);
    }
  }
  return out;
}

}  // namespace ria
