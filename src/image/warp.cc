// SPDX-License-Identifier: MIT
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "image/resize.h"

namespace ria {

namespace {

/// Where a position outside falls when the picture is mirrored at the middle of its border pixels.
int mirrored(int at, int size) {
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  at = ((at % period) + period) % period;
  return std::min(at, period - at);
}

// Positions are rounded to 1/32 pixel and weights are whole numbers, as cv::warpPerspective does:
// the studies' figures were measured with it.
constexpr int kStepBits = 5;
constexpr int kSteps = 1 << kStepBits;

/// A coordinate in steps; a point at infinity is at 0.
int in_steps(double numerator, double denominator) {
  const double steps = denominator == 0 ? 0 : numerator * (kSteps / denominator);
  return static_cast<int>(std::nearbyint(
      std::clamp<double>(steps, std::numeric_limits<int>::min(), std::numeric_limits<int>::max())));
}

/// The value between the four pixels around a point.
void interpolate(const Image& image, int x_steps, int y_steps, std::uint8_t* rgb) {
  const int x = x_steps >> kStepBits, y = y_steps >> kStepBits;
  const int right = x_steps & (kSteps - 1), down = y_steps & (kSteps - 1);
  const auto pixel = [&](int row, int column) {
    const std::size_t at = static_cast<std::size_t>(mirrored(row, image.height)) * image.width;
    return &image.rgb[(at + mirrored(column, image.width)) * 3];
  };
  const std::uint8_t* corners[] = {
      pixel(y, x), pixel(y, x + 1), pixel(y + 1, x), pixel(y + 1, x + 1)};
  const int weights[] = {(kSteps - down) * (kSteps - right),
                         (kSteps - down) * right,
                         down * (kSteps - right),
                         down * right};
  for (int c = 0; c < 3; ++c) {
    int sum = kSteps * kSteps / 2;
    for (int i = 0; i < 4; ++i) sum += weights[i] * corners[i][c];
    rgb[c] = static_cast<std::uint8_t>(sum >> 2 * kStepBits);
  }
}

}  // namespace

Homography homography_of(const std::array<std::array<double, 2>, 4>& from,
                         const std::array<std::array<double, 2>, 4>& to) {
  Eigen::Matrix<double, 8, 8> equations;
  Eigen::Matrix<double, 8, 1> wanted;
  for (int i = 0; i < 4; ++i) {
    const auto [x, y] = from[i];
    const auto [u, v] = to[i];
    equations.row(i) << x, y, 1, 0, 0, 0, -x * u, -y * u;
    equations.row(i + 4) << 0, 0, 0, x, y, 1, -x * v, -y * v;
    wanted[i] = u;
    wanted[i + 4] = v;
  }
  const Eigen::Matrix<double, 8, 1> found = equations.partialPivLu().solve(wanted);
  Homography out{};
  std::copy_n(found.data(), 8, out.begin());
  out[8] = 1;
  return out;
}

Image warp_image(const Image& image, const Homography& homography) {
  check_image(image);
  using Matrix3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  const Matrix3 back = Eigen::Map<const Matrix3>(homography.data()).inverse();
  Image out{image.height, image.width, std::vector<std::uint8_t>(image.rgb.size())};
  std::uint8_t* rgb = out.rgb.data();
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x, rgb += 3) {
      const Eigen::Vector3d source = back * Eigen::Vector3d(x, y, 1);
      interpolate(image, in_steps(source[0], source[2]), in_steps(source[1], source[2]), rgb);
    }
  }
  return out;
}

}  // namespace ria
