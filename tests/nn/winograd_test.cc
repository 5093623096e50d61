// SPDX-License-Identifier: MIT
// Convolutions by Winograd's algorithm against sums in double precision.
#include "nn/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/all_kernels.h"

namespace ria {
namespace {

struct Case {
  int in, out, height, width;  // channels are rounded up to whole vectors
};

enum class Layout { kBlocks, kBlocksOf16, kChannelsLast };

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

std::int64_t place(const WinogradTensor& tensor, int channel, int y, int x) {
  const std::int64_t row = channel / tensor.together * tensor.height + y;
  return (row * tensor.width + x) * tensor.together + channel % tensor.together;
}

double defined(const Convolution& conv,
               const float* source,
               const WinogradTensor& tensor,
               int out,
               int y,
               int x) {
  double sum = conv.bias[out];
  for (int i = 0; i < conv.in; ++i) {
    for (int ky = 0; ky < 3; ++ky) {
      for (int kx = 0; kx < 3; ++kx) {
        const int sy = y + ky - 1, sx = x + kx - 1;
        if (sy < 0 || sx < 0 || sy >= tensor.height || sx >= tensor.width) continue;
        sum += static_cast<double>(source[place(tensor, i, sy, sx)]) *
               conv.weight[((static_cast<std::size_t>(out) * conv.in + i) * 3 + ky) * 3 + kx];
      }
    }
  }
  return sum;
}

/// A tensor between values that must be neither read nor written.
class Guarded {
 public:
  Guarded(std::size_t size, unsigned seed) : values_(size + 2 * kGuard, kUntouched) {
    fill(data(), size, seed);
  }
  float* data() { return values_.data() + kGuard; }
  bool intact() const {
    const auto is_guard = [](float value) { return std::isnan(value); };
    return std::all_of(values_.begin(), values_.begin() + kGuard, is_guard) &&
           std::all_of(values_.end() - kGuard, values_.end(), is_guard);
  }

 private:
  static constexpr std::size_t kGuard = 4096;
  static constexpr float kUntouched = NAN;
  std::vector<float> values_;
};

class WinogradTest : public testing::TestWithParam<std::tuple<const PanelKernels*, bool>> {
 protected:
  const PanelKernels& kernels_ = *std::get<0>(GetParam());
  const WinogradKernels& transforms_ =
      std::get<1>(GetParam()) ? kernels_.winograd_4x4 : kernels_.winograd_2x4;

  int whole(int channels) const {
    return (channels + kernels_.width - 1) / kernels_.width * kernels_.width;
  }
  WinogradTensor tensor(const Case& c, Layout layout, int channels) const {
    const int block = layout == Layout::kBlocksOf16 ? 16 : kernels_.width;
    return {c.height, c.width, layout == Layout::kChannelsLast ? channels : block};
  }

  /// Results must be near the definition, and have the same bits for any number of threads.
  void check(const Case& c, Layout layout, bool residual, bool relu) {
    const Convolution conv = random_convolution(whole(c.in), whole(c.out));
    const WinogradWeights weights(conv, kernels_, transforms_);
    const WinogradTensor from = tensor(c, layout, conv.in), to = tensor(c, layout, conv.out);
    const std::size_t pixels = static_cast<std::size_t>(c.height) * c.width;
    Guarded source(conv.in * pixels, 3), held(conv.out * pixels, 4), first = held;
    for (const int threads : {1, 2, 3}) {
      const WinogradLayer layer(weights, from, to, threads);
      const AlignedBuffer<float> scratch(layer.scratch_size() / sizeof(float));
      std::fill_n(scratch.data(), scratch.size(), NAN);
      Guarded target = held;
      layer.run(source.data(), target.data(), residual, relu, scratch.data());
      ASSERT_TRUE(target.intact());
      if (threads == 1) {
        first = target;
      } else {
        const float *a = first.data(), *b = target.data();
        EXPECT_TRUE(std::equal(a, a + conv.out * pixels, b)) << threads << " threads";
      }
    }
    double largest = 0, difference = 0;
    for (int o = 0; o < conv.out; o += 5) {  // no divisor of the blocks: all lanes have their turn
      for (int y = 0; y < c.height; ++y) {
        for (int x = 0; x < c.width; ++x) {
          const std::int64_t at = place(to, o, y, x);
          double expected = defined(conv, source.data(), from, o, y, x);
          if (residual) expected += held.data()[at];
          if (relu) expected = std::max(expected, 0.0);
          largest = std::max(largest, std::abs(expected));
          const double apart = std::abs(first.data()[at] - expected);
          if (!(apart <= difference)) difference = apart;  // also if it is not a number
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
    check(c, Layout::kBlocks, false, false);
  }
}

TEST_P(WinogradTest, SharedTilesInSeveralRounds) {
  check({256, 64, 60, 61}, Layout::kBlocks, false, true);
}

TEST_P(WinogradTest, AddsTheResidualAndCutsOff) {
  check({64, 64, 15, 9}, Layout::kBlocks, true, false);
  check({64, 64, 15, 9}, Layout::kBlocks, false, true);
  check({64, 128, 15, 9}, Layout::kBlocks, true, true);
  check({256, 64, 6, 11}, Layout::kBlocks, true, true);
}

TEST_P(WinogradTest, ReadsAndWritesAnyLayout) {
  check({64, 72, 15, 9}, Layout::kChannelsLast, false, true);
  check({256, 64, 10, 7}, Layout::kChannelsLast, true, true);
  check({64, 96, 15, 9}, Layout::kBlocksOf16, true, true);
}

INSTANTIATE_TEST_SUITE_P(Cpus,
                         WinogradTest,
                         testing::Combine(testing::ValuesIn(all_kernels()), testing::Bool()),
                         [](const auto& info) {
                           const bool large = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param)->name) +
                                  (large ? "_4x4" : "_2x4");
                         });

/// Kernels that are taken to be those of a CPU with such vectors.
PanelKernels fused(int width) {
  PanelKernels kernels = *panel_kernels().back();
  kernels.width = width;
  kernels.rows = width / 2;
  kernels.fused = true;
  return kernels;
}

TEST(ChooseWinograd, TakesOnlyWhatItCanDo) {
  const PanelKernels narrow = fused(8), wide = fused(16);
  const auto takes = [&](const Convolution& conv, const PanelKernels& kernels) {
    return choose_winograd(conv, 28, 28, kernels) != nullptr;
  };
  const auto refuses = [&](auto change) {
    Convolution conv{64, 64, 3, 1, 1, {}, {}};
    change(conv);
    return !takes(conv, narrow) && !takes(conv, wide);
  };
  EXPECT_FALSE(refuses([](Convolution&) {}));
  EXPECT_TRUE(refuses([](Convolution& c) { c.kernel = 1; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.kernel = 5; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.stride = 2; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.pad = 0; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.in = 68; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.out = 68; }));
  EXPECT_TRUE(refuses([](Convolution& c) { c.in = 3; }));
  const Convolution odd{72, 64, 3, 1, 1, {}, {}};
  EXPECT_TRUE(takes(odd, narrow));
  EXPECT_FALSE(takes(odd, wide));
  EXPECT_FALSE(takes({64, 64, 3, 1, 1, {}, {}}, *panel_kernels().back()));
}

TEST(ChooseWinograd, LargeTilesForManyPixelsAndNoneForVeryFew) {
  const PanelKernels narrow = fused(8), wide = fused(16);
  const Convolution deep{512, 512, 3, 1, 1, {}, {}};
  EXPECT_EQ(choose_winograd(deep, 28, 28, narrow), &narrow.winograd_4x4);
  EXPECT_EQ(choose_winograd(deep, 7, 7, narrow), &narrow.winograd_2x4);
  EXPECT_EQ(choose_winograd(deep, 1, 1, narrow), nullptr);
  EXPECT_EQ(choose_winograd(deep, 28, 28, wide), &wide.winograd_4x4);
  EXPECT_EQ(choose_winograd(deep, 7, 7, wide), nullptr);
}

}  // namespace
}  // namespace ria
