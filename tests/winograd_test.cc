// SPDX-License-Identifier: MIT
// Convolutions by Winograd's algorithm against sums in double precision.
#include "nn/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ria {
namespace {

struct Case {
  int in, out, height, width;
};

void fill(float* values, std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < count; ++i) values[i] = normal(engine);
}

Convolution random_convolution(int in, int out) {
  Convolution conv{out, in, 3, 1, 1, {}, std::vector<float>(out)};
  conv.weight.resize(static_cast<std::size_t>(out) * in * 9);
  fill(conv.weight.data(), conv.weight.size(), 1);
  fill(conv.bias.data(), conv.bias.size(), 2);
  return conv;
}

WinogradLayout blocked(const Case& c) {
  return {kWinogradBlock, static_cast<std::int64_t>(c.height) * c.width * kWinogradBlock};
}

WinogradLayout channels_last(int channels) { return {channels, kWinogradBlock}; }

std::int64_t place(const WinogradLayout& layout, const Case& c, int channel, int y, int x) {
  return channel / kWinogradBlock * layout.block +
         (static_cast<std::int64_t>(y) * c.width + x) * layout.pixel + channel % kWinogradBlock;
}

double defined(const Convolution& conv,
               const Case& c,
               const float* source,
               const WinogradLayout& layout,
               int out,
               int y,
               int x) {
  double sum = conv.bias[out];
  for (int i = 0; i < conv.in; ++i) {
    for (int ky = 0; ky < 3; ++ky) {
      for (int kx = 0; kx < 3; ++kx) {
        const int sy = y + ky - 1, sx = x + kx - 1;
        if (sy < 0 || sx < 0 || sy >= c.height || sx >= c.width) continue;
        sum += static_cast<double>(source[place(layout, c, i, sy, sx)]) *
               conv.weight[((static_cast<std::size_t>(out) * conv.in + i) * 3 + ky) * 3 + kx];
      }
    }
  }
  return sum;
}

class WinogradTest : public testing::TestWithParam<const WinogradKernels*> {
 protected:
  void SetUp() override {
    if (!WinogradWeights::fits(random_convolution(64, 64))) GTEST_SKIP() << "not for this CPU";
  }

  /// Threads, layouts, residual and ReLU vary; results must have the same bits for any threads.
  void check(const Case& c, bool last, bool residual, bool relu) {
    const Convolution conv = random_convolution(c.in, c.out);
    const WinogradWeights weights(conv, *GetParam());
    const WinogradLayout from = last ? channels_last(c.in) : blocked(c);
    const WinogradLayout to = last ? channels_last(c.out) : blocked(c);
    const std::size_t pixels = static_cast<std::size_t>(c.height) * c.width;
    std::vector<float> source(c.in * pixels), held(c.out * pixels), first;
    fill(source.data(), source.size(), 3);
    fill(held.data(), held.size(), 4);
    for (const int threads : {1, 2, 3}) {
      const WinogradLayer layer(weights, c.height, c.width, from, to, threads);
      const AlignedBuffer<float> scratch(layer.scratch_size() / sizeof(float));
      std::fill_n(scratch.data(), scratch.size(), NAN);
      std::vector<float> target = held;
      layer.run(source.data(), target.data(), residual, relu, scratch.data());
      if (threads > 1) {
        EXPECT_EQ(target, first) << threads << " threads";
        continue;
      }
      first = target;
    }
    double largest = 0, difference = 0;
    for (int o = 0; o < c.out; o += 5) {  // not a divisor of the blocks: all lanes have their turn
      for (int y = 0; y < c.height; ++y) {
        for (int x = 0; x < c.width; ++x) {
          const std::int64_t at = place(to, c, o, y, x);
          double expected = defined(conv, c, source.data(), from, o, y, x);
          if (residual) expected += held[at];
          if (relu) expected = std::max(expected, 0.0);
          largest = std::max(largest, std::abs(expected));
          difference = std::max(difference, std::abs(first[at] - expected));
        }
      }
    }
    EXPECT_LE(difference, 6e-6 * largest);
  }
};

TEST_P(WinogradTest, EqualsTheDefinition) {
  for (const Case& c : {Case{64, 64, 8, 16},
                        {64, 64, 33, 29},
                        {64, 64, 1, 1},
                        {72, 80, 2, 5},
                        {64, 104, 3, 40},
                        {128, 64, 17, 30},
                        {256, 64, 13, 14},
                        {256, 72, 5, 3},
                        {520, 64, 7, 7}}) {
    SCOPED_TRACE(testing::Message()
                 << c.in << " to " << c.out << ", " << c.height << " x " << c.width);
    check(c, false, false, false);
  }
}

TEST_P(WinogradTest, SharedTilesInSeveralRounds) { check({256, 64, 60, 61}, false, false, true); }

TEST_P(WinogradTest, AddsTheResidualAndCutsOff) {
  check({64, 64, 15, 9}, false, true, false);
  check({64, 64, 15, 9}, false, false, true);
  check({64, 128, 15, 9}, false, true, true);
  check({256, 64, 6, 11}, false, true, true);
}

TEST_P(WinogradTest, ReadsAndWritesChannelsLast) {
  check({64, 72, 15, 9}, true, false, true);
  check({256, 64, 10, 7}, true, true, true);
}

INSTANTIATE_TEST_SUITE_P(Tiles,
                         WinogradTest,
                         testing::Values(&kWinograd2x4, &kWinograd4x4),
                         [](const auto& info) {
                           return "Rows" + std::to_string(info.param->tile_rows) + "Columns" +
                                  std::to_string(info.param->tile_columns);
                         });

TEST(Winograd, TakesOnlyWhatItCanDo) {
  const Convolution good{64, 64, 3, 1, 1, {}, {}};
  const auto refuses = [&](auto change) {
    Convolution conv = good;
    change(conv);
    return !WinogradWeights::fits(conv);
  };
  EXPECT_TRUE(refuses([](Convolution& c) { c.kernel = 1; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.kernel = 5; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.stride = 2; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.pad = 0; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.in = 68; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.out = 68; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.in = 3; }));
}

}  // namespace
}  // namespace ria
