// SPDX-License-Identifier: MIT
// Pairs of panels in seven products instead of eight, by the loops of every kind of CPU.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "nn/panel_linear.h"
#include "nn/transformer.h"
#include "ria/eigen.h"
#include "support/all_kernels.h"
#include "util/cpu.h"

namespace ria {
namespace {

/// A layer, its inputs and what its outputs are added to, [channel][token].
struct Layer {
  template <typename Next>
  Layer(int outputs, int inputs, int tokens, Next next)
      : weight(EigenMatrix::NullaryExpr(outputs, inputs, next)),
        x(EigenMatrix::NullaryExpr(inputs, tokens, next)),
        y(EigenMatrix::NullaryExpr(outputs, tokens, next)),
        bias(outputs) {
    for (float& value : bias) value = next();
  }

  PanelLinear packed(const PanelKernels& kernels) const {
    const auto read = [this](int row, float* values) {
      std::copy_n(weight.row(row).data(), weight.cols(), values);
    };
    const auto outputs = static_cast<int>(weight.rows()), inputs = static_cast<int>(weight.cols());
    return PanelLinear(kernels, Precision::kFp32, {outputs, inputs, read, bias});
  }
  EigenMatrixD exact() const {
    EigenMatrixD sums = weight.cast<double>() * x.cast<double>() + y.cast<double>();
    for (int i = 0; i < sums.rows(); ++i) sums.row(i).array() += bias[i];
    return sums;
  }

  EigenMatrix weight, x, y;
  std::vector<float> bias;
};

/// Some lanes, first panel before them.
struct Part {
  int panel;
  PanelLanes which;
};

/// y = activation(W x + bias + y), part by part.
EigenMatrix run(const PanelKernels& kernels,
                const Layer& layer,
                const std::vector<Part>& parts,
                Activation activation = Activation::kNone) {
  const PanelLinear linear = layer.packed(kernels);
  const int lanes = kernels.lanes, tokens = static_cast<int>(layer.x.cols());
  const int panels = (tokens + lanes - 1) / lanes;
  const std::int64_t in_stride = layer.x.rows() * lanes;
  const std::int64_t out_stride =
      (layer.y.rows() + kernels.rows) / kernels.rows * kernels.rows * lanes;
  AlignedBuffer<float> in(panels * in_stride), out(panels * out_stride);
  const auto at =
      [&](AlignedBuffer<float>& to, std::int64_t stride, Eigen::Index c, int t) -> float& {
    return to.data()[t / lanes * stride + c * lanes + t % lanes];
  };
  for (int t = 0; t < tokens; ++t) {
    for (int c = 0; c < layer.x.rows(); ++c) at(in, in_stride, c, t) = layer.x(c, t);
    for (int c = 0; c < layer.y.rows(); ++c) at(out, out_stride, c, t) = layer.y(c, t);
  }
  LinearScratch scratch;
  linear.reserve(panels, scratch);
  for (const auto& [panel, which] : parts) {
    linear.run({in.data() + panel * in_stride, in_stride},
               {out.data() + panel * out_stride, out_stride},
               which,
               true,
               activation,
               scratch);
  }
  EigenMatrix result = layer.y;
  for (int t = 0; t < tokens; ++t) {
    for (int c = 0; c < result.rows(); ++c) result(c, t) = at(out, out_stride, c, t);
  }
  return result;
}

class PanelPairsTest : public testing::TestWithParam<const PanelKernels*> {
 protected:
  const PanelKernels& kernels_ = *GetParam();
  const int lanes_ = GetParam()->lanes, width_ = GetParam()->width;

  /// All tokens, the first two panels and the last two a pair, what lies between them alone.
  std::vector<Part> all(int tokens, bool pairs) const {
    const int panels = (tokens + lanes_ - 1) / lanes_;
    const std::uint32_t paired = panels < 4 ? 3u : 3u | 3u << (panels - 2);
    return {{0, {panels, 0, tokens - (panels - 1) * lanes_, pairs ? paired : 0}}};
  }
};

/// Of small whole numbers every sum is exact, in whatever order.
TEST_P(PanelPairsTest, AreTheProductToTheLastBitWhereNothingIsRounded) {
  std::mt19937 engine(1);
  std::uniform_int_distribution<int> whole(-8, 8);
  const auto next = [&] { return static_cast<float>(whole(engine)); };
  for (const auto& [outputs, inputs, takes] : {std::array{512, 512, 1},
                                               {528, 768, 1},
                                               {512, 1540, 1},
                                               {512, 1541, 0},
                                               {512, 514, 0},
                                               {520 - 8 + kernels_.rows, 512, 0},
                                               {525, 512, 1},
                                               {256, 768, 0}}) {
    const Layer layer(outputs, inputs, 5 * lanes_, next);
    SCOPED_TRACE(testing::Message() << outputs << " x " << inputs);
    EXPECT_EQ(layer.packed(kernels_).takes_pairs(), takes == 1);
    const EigenMatrixD exact = layer.exact();
    EXPECT_TRUE(run(kernels_, layer, all(5 * lanes_, true)).cast<double>() == exact);
    EXPECT_TRUE(run(kernels_, layer, all(5 * lanes_, true), Activation::kRelu).cast<double>() ==
                exact.cwiseMax(0));
  }
}

/// One level of it costs accuracy, but little: about three times the error of the plain product.
TEST_P(PanelPairsTest, RoundLittleMoreThanTheProduct) {
  std::mt19937 engine(2);
  std::normal_distribution<float> normal;
  const auto next = [&] { return normal(engine); };
  for (const auto& [outputs, inputs] : {std::array{512, 768}, {512, 3072}}) {
    const Layer layer(outputs, inputs, 2 * lanes_, next);
    const EigenMatrixD exact = layer.exact();
    const auto error = [&](bool pairs) {
      const EigenMatrix sums = run(kernels_, layer, all(2 * lanes_, pairs));
      return (sums.cast<double>() - exact).norm() / exact.norm();
    };
    EXPECT_LE(error(true), 1.5e-6) << inputs;
    EXPECT_LE(error(true), 4 * error(false)) << inputs;
    EXPECT_NE(error(true), error(false)) << inputs;
  }
}

/// Threads split pairs between vectors.
TEST_P(PanelPairsTest, SameBitsHoweverTheyAreSplit) {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  const int tokens = 4 * lanes_;
  const Layer layer(512, 516, tokens, [&] { return normal(engine); });
  const EigenMatrix whole = run(kernels_, layer, all(tokens, true), Activation::kGelu);
  for (int lane = width_; lane < lanes_; lane += width_) {
    const std::vector<Part> parts{
        {0, {2, 0, lane, 3}}, {0, {4, lane, lane, 15}}, {2, {2, lane, lanes_, 3}}};
    EXPECT_TRUE(run(kernels_, layer, parts, Activation::kGelu) == whole) << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus,
                         PanelPairsTest,
                         testing::ValuesIn(all_kernels()),
                         [](const auto& info) { return std::string(info.param->name); });

/// Tokens that fill panels or not, an odd number of them or not, for any number of threads.
TEST(TransformerPairs, SameBitsForAnyNumberOfThreads) {
  constexpr int kChannels = 512, kPixels = 12;
  std::mt19937 engine(4);
  std::normal_distribution<float> normal(0, 0.05f);
  const auto random = [&](int outputs, int inputs) {
    std::vector<float> values(static_cast<std::size_t>(outputs) * inputs);
    for (float& value : values) value = normal(engine);
    return LinearSource{outputs,
                        inputs,
                        [inputs, values](int row, float* to) {
                          std::copy_n(
                              values.data() + static_cast<std::size_t>(row) * inputs, inputs, to);
                        },
                        std::vector<float>(outputs, 0.1f)};
  };
  Transformer network({kChannels, 8, 2 * kChannels}, Precision::kFp32);
  LinearSource embedding = random(kChannels, kPixels);
  embedding.bias.clear();
  network.set_embedding(embedding);
  const NormSource norm{Vector(kChannels, 1.0f), Vector(kChannels, 0.0f)};
  for (int b = 0; b < 2; ++b) {
    network.add_block({norm,
                       norm,
                       {},
                       {},
                       random(3 * kChannels, kChannels),
                       random(kChannels, kChannels),
                       random(2 * kChannels, kChannels),
                       random(kChannels, 2 * kChannels),
                       {},
                       {}});
  }
  const int width = panel_kernels().front()->width, lanes = panel_kernels().front()->lanes;
  for (const int tokens :
       {1, lanes, 2 * lanes, 2 * lanes + width - 1, 3 * lanes, 7 * lanes + 2, 9 * lanes - 1}) {
    Matrix positions(tokens, kChannels);
    for (int t = 0; t < tokens; ++t) {
      for (float& value : positions.row(t)) value = 20 * normal(engine);
    }
    const auto run = [&](int threads) {
      set_thread_cores(threads);
      return network.run(
          [&](int first, int count, int stride, float* panel) {
            // Lanes that are no token hold anything: they must not reach the others.
            for (int i = 0; i < kPixels * stride; ++i) {
              panel[i] =
                  i % stride < count ? static_cast<float>((first + i) % 5) : 100.0f * threads;
            }
          },
          positions);
    };
    const Matrix one = run(1);
    for (const int threads : {2, 3, 5}) {
      EXPECT_TRUE(as_eigen(one) == as_eigen(run(threads))) << tokens << " tokens, " << threads;
    }
  }
  set_thread_cores(0);
}

}  // namespace
}  // namespace ria
