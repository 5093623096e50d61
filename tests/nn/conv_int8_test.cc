// SPDX-License-Identifier: MIT
// int8 convolutions against sums of integers.
#include "nn/conv_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "nn/conv_net.h"

namespace ria {
namespace {

std::vector<float> numbers(std::size_t count, unsigned seed, float scale = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

ConvStep step_of(int input, Convolution convolution, int residual, bool relu) {
  ConvStep step;
  step.input = input;
  step.residual = residual;
  step.relu = relu;
  step.convolution = std::move(convolution);
  return step;
}

Convolution random_convolution(int in, int out, int kernel, int stride, unsigned seed) {
  const auto fan_in = static_cast<std::size_t>(in) * kernel * kernel;
  return {out,
          in,
          kernel,
          stride,
          kernel / 2,
          numbers(out * fan_in, seed, 1 / std::sqrt(static_cast<float>(fan_in))),
          numbers(out, seed + 1, 0.1f)};
}

TEST(ConvInt8, PassesEqualTheirDefinition) {
  for (const std::size_t count : {1u, 31u, 32u, 1000u, 8192u, 20011u}) {
    const std::vector<float> x = numbers(count, 1), r = numbers(count, 2);
    float best = 0;
    for (const float value : x) best = std::max(best, value);
    EXPECT_EQ(largest(x.data(), count), best);
    std::vector<std::uint8_t> levels(count, 255);
    quantize(x.data(), count, 90.0f, levels.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double exact = std::clamp(x[i] * 90.0, 0.0, 255.0);
      ASSERT_LE(std::abs(levels[i] - exact), 0.5001) << x[i];
    }
    for (const bool relu : {false, true}) {
      std::vector<float> y = x;
      const float peak = add_residual(y.data(), r.data(), count, 0.5f, 3.0f, relu);
      float expected_peak = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double sum = 0.5 * x[i] + 3.0 * r[i];
        ASSERT_NEAR(y[i], relu ? std::max(sum, 0.0) : sum, 2e-6);
        expected_peak = std::max(expected_peak, y[i]);
      }
      EXPECT_EQ(peak, expected_peak);
    }
  }
  const float odd[] = {NAN, -INFINITY, INFINITY, -0.0f};
  std::uint8_t levels[4];
  quantize(odd, 4, 1.0f, levels);
  EXPECT_EQ(levels[0], 0);
  EXPECT_EQ(levels[1], 0);
  EXPECT_EQ(levels[2], 255);
  EXPECT_EQ(levels[3], 0);
}

TEST(ConvInt8, WeightsUseEveryLevelOfTheirChannel) {
  std::vector<float> weights = {1, -2, 0.5f, 0, 0, 0, -1e-20f, 1e-20f, 0.49e-20f};
  const Int8Weights result = quantize_weights(weights, 3);
  EXPECT_EQ(result.levels, (std::vector<std::int8_t>{32, -64, 16, 0, 0, 0, -64, 64, 31}));
  EXPECT_FLOAT_EQ(result.scales[0], 2.0f / 64);
  EXPECT_EQ(result.scales[1], 1.0f);
}

/// scale * (sum of products of levels) + bias with whole numbers; reads the activations as the
/// network returned them.
std::vector<double> reference(const FeatureMap& in, const Convolution& conv, int h, int w) {
  float peak = 0;
  for (const float value : in.hwc) peak = std::max(peak, value);
  const double scale = peak > 0 ? peak / 255.0 : 1;
  std::vector<std::uint8_t> levels(in.hwc.size());
  quantize(in.hwc.data(), in.hwc.size(), peak > 0 ? 255.0f / peak : 0.0f, levels.data());
  const Int8Weights weights = quantize_weights(conv.weight, conv.out);
  std::vector<double> out;
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      for (int o = 0; o < conv.out; ++o) {
        std::int64_t sum = 0;
        for (int ky = 0; ky < conv.kernel; ++ky) {
          for (int kx = 0; kx < conv.kernel; ++kx) {
            const int sy = y * conv.stride + ky - conv.pad, sx = x * conv.stride + kx - conv.pad;
            if (sy < 0 || sx < 0 || sy >= in.height || sx >= in.width) continue;
            for (int i = 0; i < conv.in; ++i) {
              sum += levels[(static_cast<std::size_t>(sy) * in.width + sx) * in.channels + i] *
                     weights.levels[((o * conv.in + i) * conv.kernel + ky) * conv.kernel + kx];
            }
          }
        }
        out.push_back(scale * weights.scales[o] * static_cast<double>(sum) + conv.bias[o]);
      }
    }
  }
  return out;
}

void expect_exact(const Convolution& first, const Convolution& second) {
  const ConvNet net(
      {step_of(0, first, -1, true), step_of(1, second, -1, false)}, {1, 2}, Precision::kInt8);
  const Pixels pixels{19, 23, numbers(3u * 19 * 23, 9)};
  const auto maps = net.run(pixels);
  const std::vector<double> expected = reference(maps[0], second, maps[1].height, maps[1].width);
  ASSERT_EQ(expected.size(), maps[1].hwc.size());
  double peak = 0;
  for (const double value : expected) peak = std::max(peak, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(maps[1].hwc[i], expected[i], 1e-6 * peak) << i;
  }
}

TEST(ConvInt8, SumsAreExact) {
  for (const auto& [in, out, kernel, stride] : std::vector<std::array<int, 4>>{{64, 64, 1, 1},
                                                                               {64, 32, 3, 1},
                                                                               {256, 64, 1, 1},
                                                                               {64, 256, 1, 2},
                                                                               {128, 128, 3, 2},
                                                                               {5, 7, 3, 1},
                                                                               {4, 16, 1, 1},
                                                                               {33, 9, 3, 2}}) {
    SCOPED_TRACE(testing::Message() << in << " " << out << " " << kernel << " " << stride);
    const Convolution first = random_convolution(3, in, 3, 1, 3);
    expect_exact(first, random_convolution(in, out, kernel, stride, 4));
  }
}

// Every activation and every weight at its largest: pairs of products that 16 bits must hold.
TEST(ConvInt8, ExtremesDoNotSaturate) {
  Convolution constant = random_convolution(3, 64, 1, 1, 5);
  std::fill(constant.weight.begin(), constant.weight.end(), 0.0f);
  std::fill(constant.bias.begin(), constant.bias.end(), 3.0f);
  for (const int kernel : {1, 3}) {
    for (const float sign : {1.0f, -1.0f}) {
      Convolution same = random_convolution(64, 24, kernel, 1, 6);
      std::fill(same.weight.begin(), same.weight.end(), sign * 0.25f);
      expect_exact(constant, same);
    }
    Convolution mixed = random_convolution(64, 24, kernel, 1, 7);
    for (float& w : mixed.weight) w = w > 0 ? 0.5f : -0.5f;
    expect_exact(constant, mixed);
    expect_exact(random_convolution(3, 64, 3, 1, 8), mixed);
  }
}

TEST(ConvInt8, APictureOfNothingLeavesTheBias) {
  Convolution zero = random_convolution(3, 16, 1, 1, 1);
  std::fill(zero.weight.begin(), zero.weight.end(), 0.0f);
  std::fill(zero.bias.begin(), zero.bias.end(), 0.0f);
  const Convolution second = random_convolution(16, 8, 3, 1, 2);
  const ConvNet net(
      {step_of(0, zero, -1, true), step_of(1, second, -1, false)}, {2}, Precision::kInt8);
  const FeatureMap map = net.run({6, 6, numbers(3u * 36, 3)}).front();
  for (std::size_t i = 0; i < map.hwc.size(); ++i) {
    ASSERT_NEAR(map.hwc[i], second.bias[i % 8], 1e-6);
  }
}

/// Blocks with and without their own shortcut, a pool, and an input that may be negative.
std::vector<ConvStep> small_network() {
  ConvStep pool;
  pool.kind = ConvStep::Kind::kMaxPool;
  pool.input = 1;
  pool.kernel = 3;
  pool.stride = 2;
  pool.pad = 1;
  return {step_of(0, random_convolution(3, 16, 7, 2, 1), -1, true),
          pool,
          step_of(2, random_convolution(16, 8, 1, 1, 2), -1, true),
          step_of(3, random_convolution(8, 16, 3, 1, 3), 2, true),
          step_of(4, random_convolution(16, 32, 1, 2, 4), -1, false),
          step_of(4, random_convolution(16, 24, 3, 2, 5), -1, true),
          step_of(6, random_convolution(24, 32, 1, 1, 6), 5, false),
          step_of(7, random_convolution(32, 16, 3, 1, 7), -1, true)};
}

TEST(ConvInt8, NetworkStaysNearFp32AtEveryTensor) {
  const std::vector<int> all{1, 2, 3, 4, 5, 6, 7, 8};
  const ConvNet exact(small_network(), all), rounded(small_network(), all, Precision::kInt8);
  for (const auto& [height, width] : {std::pair{65, 81}, {32, 32}, {65, 81}}) {
    const Pixels pixels{height, width, numbers(3u * height * width, 11)};
    const auto a = exact.run(pixels), b = rounded.run(pixels);
    for (std::size_t t = 0; t < a.size(); ++t) {
      double dot = 0, aa = 0, bb = 0;
      for (std::size_t i = 0; i < a[t].hwc.size(); ++i) {
        dot += static_cast<double>(a[t].hwc[i]) * b[t].hwc[i];
        aa += static_cast<double>(a[t].hwc[i]) * a[t].hwc[i];
        bb += static_cast<double>(b[t].hwc[i]) * b[t].hwc[i];
      }
      EXPECT_GE(dot / std::sqrt(aa * bb), 0.999) << "tensor " << t + 1;
      EXPECT_NEAR(std::sqrt(bb / aa), 1, 0.02) << "tensor " << t + 1;
    }
  }
}

TEST(ConvInt8, SameBitsForAnyNumberOfThreadsAndPictures) {
  const ConvNet net(small_network(), {8}, Precision::kInt8);
  const Pixels pixels{97, 131, numbers(3u * 97 * 131, 1)},
      other{97, 131, numbers(3u * 97 * 131, 2)};
  set_thread_cores(1);
  const std::vector<float> expected = net.run(pixels).front().hwc;
  for (const int cores : {2, 3, 1}) {
    set_thread_cores(cores);
    EXPECT_NE(net.run(other).front().hwc, expected);
    EXPECT_EQ(net.run(pixels).front().hwc, expected) << cores;
  }
  set_thread_cores(0);
}

}  // namespace
}  // namespace ria
