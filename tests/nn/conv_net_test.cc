// SPDX-License-Identifier: MIT
// The compiled network against loops written from the definition.
#include "nn/conv_net.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "ria/backbone.h"

namespace ria {
namespace {

struct Planes {
  int channels, height, width;
  std::vector<float> values;
  float at(int c, int y, int x) const {
    return values[(static_cast<std::size_t>(c) * height + y) * width + x];
  }
};

Planes brute_convolution(const Planes& in,
                         const Convolution& conv,
                         const Planes* residual,
                         bool relu) {
  const int h = (in.height + 2 * conv.pad - conv.kernel) / conv.stride + 1;
  const int w = (in.width + 2 * conv.pad - conv.kernel) / conv.stride + 1;
  Planes out{conv.out, h, w, {}};
  for (int o = 0; o < conv.out; ++o) {
    for (int y = 0; y < h; ++y) {
      for (int x = 0; x < w; ++x) {
        double sum = conv.bias[o];
        for (int i = 0; i < conv.in; ++i) {
          for (int ky = 0; ky < conv.kernel; ++ky) {
            for (int kx = 0; kx < conv.kernel; ++kx) {
              const int sy = y * conv.stride + ky - conv.pad, sx = x * conv.stride + kx - conv.pad;
              if (sy < 0 || sx < 0 || sy >= in.height || sx >= in.width) continue;
              sum += static_cast<double>(in.at(i, sy, sx)) *
                     conv.weight[((o * conv.in + i) * conv.kernel + ky) * conv.kernel + kx];
            }
          }
        }
        if (residual != nullptr) sum += residual->at(o, y, x);
        out.values.push_back(static_cast<float>(relu ? std::max(sum, 0.0) : sum));
      }
    }
  }
  return out;
}

Planes brute_pool(const Planes& in, int kernel, int stride, int pad) {
  Planes out{in.channels,
             (in.height + 2 * pad - kernel) / stride + 1,
             (in.width + 2 * pad - kernel) / stride + 1,
             {}};
  for (int c = 0; c < in.channels; ++c) {
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) {
        float best = -INFINITY;
        for (int sy = y * stride - pad; sy < y * stride - pad + kernel; ++sy) {
          for (int sx = x * stride - pad; sx < x * stride - pad + kernel; ++sx) {
            if (sy >= 0 && sx >= 0 && sy < in.height && sx < in.width)
              best = std::max(best, in.at(c, sy, sx));
          }
        }
        out.values.push_back(best);
      }
    }
  }
  return out;
}

class Network {
 public:
  explicit Network(unsigned seed) : engine_(seed) {}

  std::vector<float> numbers(std::size_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine_);
    return values;
  }
  ConvStep convolution(
      int input, int in, int out, int kernel, int stride, int residual, bool relu) {
    ConvStep step;
    step.input = input;
    step.residual = residual;
    step.relu = relu;
    step.convolution = {out,
                        in,
                        kernel,
                        stride,
                        kernel / 2,
                        numbers(static_cast<std::size_t>(out) * in * kernel * kernel),
                        numbers(out)};
    return step;
  }

 private:
  std::mt19937 engine_;
};

ConvStep pool(int input, int kernel, int stride, int pad) {
  ConvStep step;
  step.kind = ConvStep::Kind::kMaxPool;
  step.input = input;
  step.kernel = kernel;
  step.stride = stride;
  step.pad = pad;
  return step;
}

/// A stem, a pool, an identity block added in place, and a strided block with its shortcut.
std::vector<ConvStep> small_network() {
  Network n(7);
  return {n.convolution(0, 3, 5, 7, 2, -1, true),
          pool(1, 3, 2, 1),
          n.convolution(2, 5, 4, 1, 1, -1, true),
          n.convolution(3, 4, 5, 3, 1, 2, true),
          n.convolution(4, 5, 8, 1, 2, -1, false),
          n.convolution(4, 5, 6, 3, 2, -1, true),
          n.convolution(6, 6, 8, 1, 1, 5, true)};
}

/// A basic and a bottleneck block with enough channels for what is faster with many.
std::vector<ConvStep> wide_network() {
  Network n(8);
  return {n.convolution(0, 3, 64, 3, 2, -1, true),
          n.convolution(1, 64, 64, 3, 1, -1, true),
          n.convolution(2, 64, 64, 3, 1, 1, true),
          n.convolution(3, 64, 72, 1, 1, -1, true),
          n.convolution(4, 72, 80, 3, 1, -1, false),
          pool(5, 2, 2, 0),
          n.convolution(6, 80, 64, 3, 1, -1, true)};
}

class ConvNetworks : public testing::TestWithParam<std::vector<ConvStep> (*)()> {};

TEST_P(ConvNetworks, EqualTheDefinitionAtEveryTensor) {
  const std::vector<ConvStep> steps = GetParam()();
  const ConvNet net(steps, {1, 2, 3, 4, 5, 6, 7});
  for (const auto& [height, width] : {std::pair{33, 41}, {16, 16}, {9, 64}, {33, 41}}) {
    const Pixels pixels{height, width, Network(height).numbers(3u * height * width)};
    std::vector<Planes> tensors{{3, height, width, pixels.chw}};
    for (const ConvStep& step : steps) {
      const Planes& in = tensors[step.input];
      tensors.push_back(
          step.kind == ConvStep::Kind::kMaxPool
              ? brute_pool(in, step.kernel, step.stride, step.pad)
              : brute_convolution(in,
                                  step.convolution,
                                  step.residual < 0 ? nullptr : &tensors[step.residual],
                                  step.relu));
    }
    const auto maps = net.run(pixels);
    ASSERT_EQ(maps.size(), 7u);
    for (std::size_t t = 0; t < maps.size(); ++t) {
      const Planes& expected = tensors[t + 1];
      ASSERT_EQ(maps[t].hwc.size(), expected.values.size()) << t;
      float largest = 0, difference = 0;
      for (int c = 0; c < expected.channels; ++c) {
        for (int y = 0; y < expected.height; ++y) {
          for (int x = 0; x < expected.width; ++x) {
            const float actual =
                maps[t].hwc[(static_cast<std::size_t>(y) * expected.width + x) * expected.channels +
                            c];
            largest = std::max(largest, std::abs(expected.at(c, y, x)));
            difference = std::max(difference, std::abs(actual - expected.at(c, y, x)));
          }
        }
      }
      EXPECT_LE(difference, 1e-5f * largest) << "tensor " << t + 1;
    }
  }
}

TEST_P(ConvNetworks, SameBitsForAnyNumberOfThreadsAndCallers) {
  const ConvNet net(GetParam()(), {7});
  const Pixels pixels{97, 131, Network(1).numbers(3u * 97 * 131)};
  const std::vector<float> expected = net.run(pixels).front().hwc;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        set_thread_cores(1 + t % 2);
        for (int i = 0; i < 20; ++i) EXPECT_EQ(net.run(pixels).front().hwc, expected);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths,
                         ConvNetworks,
                         testing::Values(small_network, wide_network),
                         [](const auto& info) { return info.index == 0 ? "Small" : "Wide"; });

TEST(ConvNet, RefusesAPictureThatVanishes) {
  Network n(1);
  ConvStep step = n.convolution(0, 3, 4, 3, 1, -1, true);
  step.convolution.pad = 0;
  const ConvNet net({step}, {1});
  EXPECT_THROW(net.run({2, 2, std::vector<float>(12)}), std::invalid_argument);
}

}  // namespace
}  // namespace ria
