// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <utility>

#include "image/resize.h"

namespace ria {

namespace {

using Filter = double (*)(double);

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

// Keys' cubic convolution; a = -0.5 in Pillow and in torch's antialiased kernel, -0.75 in torch's
// plain kernel.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

double cubic_half(double x) { return cubic(x, -0.5); }

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos3(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

/// Weights before they are rounded to what a kind computes with.
struct ExactTaps {
  int stride = 0;
  std::vector<int> first;
  std::vector<int> count;
  std::vector<double> weight;
};

// The filter grows with the shrinking factor, its weights sum to one. torch's antialiasing is the
// same construction as Pillow's, but its positions are float32: in a wide picture they are off by
// enough to be seen in the result.
template <typename Real>
ExactTaps antialiased(int in, int out, Filter filter, Real support) {
  const Real scale = static_cast<Real>(in) / out;
  const Real filter_scale = std::max(scale, Real{1});
  const Real inverse = 1.0 / filter_scale;
  support *= filter_scale;
  ExactTaps taps;
  taps.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.weight.assign(static_cast<std::size_t>(out) * taps.stride, 0.0);
  for (int i = 0; i < out; ++i) {
    const Real center = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int count = std::min(static_cast<int>(center + support + 0.5), in) - first;
    double* weight = taps.weight.data() + static_cast<std::size_t>(i) * taps.stride;
    Real sum = 0;
    for (int k = 0; k < count; ++k) {
      // Multiplied by the inverse, not divided: the last bit decides roundings in Pillow.
      weight[k] = filter(static_cast<Real>((k + first - center + 0.5) * inverse));
      sum += weight[k];
    }
    if (sum != 0.0) {
      for (int k = 0; k < count; ++k) weight[k] /= sum;
    }
    taps.first.push_back(first);
    taps.count.push_back(count);
  }
  return taps;
}

// Taps beyond the border fall on the border's pixel, where their weights add up.
void add_clamped(ExactTaps& taps, int in, int first, std::initializer_list<double> weights) {
  const int last = first + static_cast<int>(weights.size()) - 1;
  const int begin = std::clamp(first, 0, in - 1);
  const std::size_t row = taps.weight.size();
  taps.weight.resize(row + taps.stride, 0.0);
  for (const double weight : weights) {
    taps.weight[row + (std::clamp(first++, 0, in - 1) - begin)] += weight;
  }
  taps.first.push_back(begin);
  taps.count.push_back(std::clamp(last, 0, in - 1) - begin + 1);
}

ExactTaps plain(int in, int out, Resize kind, double step) {
  // torch rounds the ratio to float32 but not the positions, except for nearest, where a product
  // may so fall on the other side of an integer.
  const float scale =
      step > 0 ? static_cast<float>(step) : static_cast<float>(in) / static_cast<float>(out);
  ExactTaps taps;
  taps.stride = kind == Resize::kTensorBicubic ? 4 : kind == Resize::kTensorBilinear ? 2 : 1;
  for (int i = 0; i < out; ++i) {
    if (kind == Resize::kTensorNearest) {
      add_clamped(taps, in, static_cast<int>(std::floor(static_cast<float>(i) * scale)), {1.0});
      continue;
    }
    const double source = (i + 0.5) * scale - 0.5;
    const int floor = static_cast<int>(std::floor(source));
    const double t = source - floor;
    if (kind == Resize::kTensorBilinear) {
      add_clamped(taps, in, floor, {1.0 - t, t});
    } else {
      constexpr double a = -0.75;
      add_clamped(taps,
                  in,
                  floor - 1,
                  {cubic(t + 1.0, a), cubic(t, a), cubic(1.0 - t, a), cubic(2.0 - t, a)});
    }
  }
  return taps;
}

}  // namespace

FixedTaps pil_taps(int in, int out, Resize kind) {
  ExactTaps exact = kind == Resize::kPilBilinear  ? antialiased(in, out, triangle, 1.0)
                    : kind == Resize::kPilBicubic ? antialiased(in, out, cubic_half, 2.0)
                                                  : antialiased(in, out, lanczos3, 3.0);
  FixedTaps taps{exact.stride, std::move(exact.first), std::move(exact.count), {}};
  taps.weight.reserve(exact.weight.size());
  for (const double weight : exact.weight) {
    const double scaled = weight * (1 << kPrecisionBits);
    taps.weight.push_back(static_cast<std::int32_t>(scaled + (weight < 0.0 ? -0.5 : 0.5)));
  }
  return taps;
}

Taps tensor_taps(int in, int out, Resize kind, double step) {
  ExactTaps exact = kind == Resize::kTensorBilinearAa  ? antialiased(in, out, triangle, 1.0f)
                    : kind == Resize::kTensorBicubicAa ? antialiased(in, out, cubic_half, 2.0f)
                                                       : plain(in, out, kind, step);
  return {exact.stride,
          std::move(exact.first),
          std::move(exact.count),
          {exact.weight.begin(), exact.weight.end()}};
}

}  // namespace ria
