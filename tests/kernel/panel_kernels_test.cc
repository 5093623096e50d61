// SPDX-License-Identifier: MIT
// The inner loops of every kind of CPU this one can run, against sums in double precision.
#include "kernel/panel_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "nn/panel_linear.h"
#include "ria/eigen.h"
#include "support/all_kernels.h"
#include "util/aligned.h"
#include "util/cpu.h"

namespace ria {

namespace {

AlignedBuffer<float> random_buffer(std::size_t size, float scale, unsigned seed) {
  AlignedBuffer<float> buffer(size);
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, scale);
  for (std::size_t i = 0; i < size; ++i) buffer.data()[i] = normal(engine);
  return buffer;
}

class PanelKernelsTest : public testing::TestWithParam<const PanelKernels*> {
 protected:
  const PanelKernels& kernels_ = *GetParam();
  const int lanes_ = GetParam()->lanes;
};

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

EigenMatrix random_matrix(int rows, int columns, float scale, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, scale);
  return EigenMatrix::NullaryExpr(rows, columns, [&] { return normal(engine); });
}

LinearSource source_of(const EigenMatrix& weight, const std::vector<float>& bias) {
  return {static_cast<int>(weight.rows()),
          static_cast<int>(weight.cols()),
          [&weight](int row, float* values) {
            std::copy_n(weight.row(row).data(), weight.cols(), values);
          },
          bias};
}

/// Runs a layer on `tokens` columns and returns them; `split`: those from this token on apart.
EigenMatrix run(const PanelKernels& kernels,
                const PanelLinear& layer,
                const EigenMatrix& x,
                const EigenMatrix& y,
                Activation activation = Activation::kNone,
                int split = 0) {
  const int lanes = kernels.lanes, tokens = static_cast<int>(x.cols());
  const int panels = (tokens + lanes - 1) / lanes;
  const int outputs = (layer.outputs() + kernels.rows - 1) / kernels.rows * kernels.rows;
  AlignedBuffer<float> in(static_cast<std::size_t>(panels) * lanes * x.rows());
  AlignedBuffer<float> out(static_cast<std::size_t>(panels) * lanes * outputs);
  const auto at = [&](float* data, int channels, int c, int t) -> float& {
    return data[(static_cast<std::size_t>(t / lanes) * channels + c) * lanes + t % lanes];
  };
  for (int t = 0; t < tokens; ++t) {
    for (int c = 0; c < x.rows(); ++c) at(in.data(), layer.inputs(), c, t) = x(c, t);
    for (int c = 0; c < y.rows(); ++c) at(out.data(), outputs, c, t) = y(c, t);
  }
  LinearScratch scratch;
  layer.reserve(panels, scratch);
  const auto run_lanes = [&](int first, int end) {
    const std::int64_t in_stride = static_cast<std::int64_t>(layer.inputs()) * lanes;
    const std::int64_t out_stride = static_cast<std::int64_t>(outputs) * lanes;
    const int panel = first / lanes, last = (end - 1) / lanes;
    layer.run({in.data() + panel * in_stride, in_stride},
              {out.data() + panel * out_stride, out_stride},
              {last + 1 - panel, first % lanes, end - last * lanes},
              y.size() > 0,
              activation,
              scratch);
  };
  if (split > 0) run_lanes(0, split);
  run_lanes(split, tokens);
  EigenMatrix result(layer.outputs(), tokens);
  for (int t = 0; t < tokens; ++t) {
    for (int c = 0; c < layer.outputs(); ++c) result(c, t) = at(out.data(), outputs, c, t);
  }
  return result;
}

TEST_P(PanelKernelsTest, LinearLayersOfAnyShape) {
  for (const auto& [outputs, inputs, tokens] : {std::array{1, 1, 1},
                                                {5, 7, lanes_},
                                                {64, 588, 2 * lanes_ + 1},
                                                {130, 300, 3},
                                                {256, 513, lanes_ + lanes_ / 2}}) {
    SCOPED_TRACE(testing::Message() << outputs << " x " << inputs << ", " << tokens << " tokens");
    const EigenMatrix weight = random_matrix(outputs, inputs, 0.05f, 1),
                      x = random_matrix(inputs, tokens, 1, 2);
    const EigenMatrix before = random_matrix(outputs, tokens, 1, 3);
    std::vector<float> bias(outputs);
    for (int i = 0; i < outputs; ++i) bias[i] = 0.01f * static_cast<float>(i % 7);
    const PanelLinear layer(kernels_, Precision::kFp32, source_of(weight, bias));
    EigenMatrixD exact = weight.cast<double>() * x.cast<double>();
    for (int i = 0; i < outputs; ++i) exact.row(i).array() += bias[i];
    const auto worst = [](const EigenMatrix& a, const EigenMatrixD& b) {
      return (a.cast<double>() - b).cwiseAbs().maxCoeff();
    };
    EXPECT_LE(worst(run(kernels_, layer, x, {}), exact), 1e-5);
    EXPECT_LE(worst(run(kernels_, layer, x, before), exact + before.cast<double>()), 1e-5);
    EXPECT_LE(worst(run(kernels_, layer, x, {}, Activation::kGelu), exact.unaryExpr(&gelu)), 1e-5);
    EXPECT_LE(worst(run(kernels_, layer, x, {}, Activation::kRelu), exact.cwiseMax(0)), 1e-5);
    for (int split = kernels_.width; split < tokens; split += kernels_.width) {
      EXPECT_EQ(run(kernels_, layer, x, before, Activation::kGelu, split),
                run(kernels_, layer, x, before, Activation::kGelu));
    }
  }
}

/// A few tokens take another way than many, to the same bits.
TEST_P(PanelKernelsTest, TokensDoNotDependOnHowManyThereAre) {
  constexpr int kOutputs = 75, kInputs = 411;
  const EigenMatrix weight = random_matrix(kOutputs, kInputs, 0.05f, 1),
                    x = random_matrix(kInputs, lanes_, 1, 2),
                    before = random_matrix(kOutputs, lanes_, 1, 3);
  const PanelLinear layer(
      kernels_, Precision::kFp32, source_of(weight, std::vector<float>(kOutputs, 0.1f)));
  const EigenMatrix all = run(kernels_, layer, x, before, Activation::kGelu);
  for (int tokens = 1; tokens < lanes_; ++tokens) {
    EXPECT_EQ(run(kernels_, layer, x.leftCols(tokens), before.leftCols(tokens), Activation::kGelu),
              all.leftCols(tokens))
        << tokens << " tokens";
  }
}

TEST_P(PanelKernelsTest, ProductsOfRowsThatLieApart) {
  const int rows = 2 * kernels_.rows, inputs = 37, stride = 41;
  const AlignedBuffer<float> a = random_buffer(rows * stride, 1, 1);
  const AlignedBuffer<float> x = random_buffer(inputs * lanes_, 1, 2);
  for (const int used : {kernels_.width, 2 * kernels_.width, lanes_}) {
    AlignedBuffer<float> y = random_buffer(rows * lanes_, 1, 3);
    const std::vector<float> before(y.data(), y.data() + y.size());
    kernels_.product_rows(a.data(), stride, 2, x.data(), inputs, used, y.data(), {nullptr, true});
    for (int r = 0; r < rows; ++r) {
      for (int lane = 0; lane < lanes_; ++lane) {
        const std::size_t at = r * lanes_ + lane;
        double exact = before[at];
        for (int k = 0; k < inputs && lane < used; ++k) {
          exact += static_cast<double>(a.data()[r * stride + k]) * x.data()[k * lanes_ + lane];
        }
        ASSERT_NEAR(y.data()[at], exact, 2e-5) << r << ", " << lane << " of " << used;
      }
    }
  }
}

TEST_P(PanelKernelsTest, EightBitLayersAreWithinTheirSteps) {
  for (const auto& [outputs, inputs, tokens] :
       {std::array{5, 7, lanes_}, {64, 588, 2 * lanes_ + 1}, {130, 1300, 3}}) {
    SCOPED_TRACE(testing::Message() << outputs << " x " << inputs << ", " << tokens << " tokens");
    const EigenMatrix weight = random_matrix(outputs, inputs, 0.05f, 1);
    EigenMatrix x = random_matrix(inputs, tokens, 1, 2);
    x.array() += 0.5f;
    const std::vector<float> bias(outputs, 0.25f);
    const PanelLinear layer(kernels_, Precision::kInt8, source_of(weight, bias));
    const EigenMatrix exact = (weight * x).array() + 0.25f;
    const EigenMatrix result = run(kernels_, layer, x, {});
    // A step of an activation is range / 127, of a weight largest / 42; errors add like noise.
    EXPECT_LE((result - exact).norm(), 0.03 * (exact.array() - 0.25f).matrix().norm());
    EXPECT_GT((result - exact).norm(), 0);
    EXPECT_EQ(run(kernels_, layer, x, {}, Activation::kRelu), result.cwiseMax(0));
  }
}

TEST_P(PanelKernelsTest, BfloatLayersAreProductsOfRoundedNumbers) {
  if (std::string(kernels_.name) == "avx512" && !cpu_has_bf16()) GTEST_SKIP() << "no AVX512_BF16";
  const auto rounded = [](float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
    std::memcpy(&value, &bits, 4);
    return value;
  };
  for (const auto& [outputs, inputs, tokens] :
       {std::array{5, 7, lanes_}, {64, 588, 2 * lanes_ + 1}, {130, 1301, 3}}) {
    SCOPED_TRACE(testing::Message() << outputs << " x " << inputs << ", " << tokens << " tokens");
    const EigenMatrix weight = random_matrix(outputs, inputs, 0.05f, 1);
    const EigenMatrix x = random_matrix(inputs, tokens, 1, 2);
    const PanelLinear layer(
        kernels_, Precision::kBf16, source_of(weight, std::vector<float>(outputs, 0.5f)));
    const EigenMatrixD exact =
        (weight.unaryExpr(rounded).cast<double>() * x.unaryExpr(rounded).cast<double>()).array() +
        0.5;
    const EigenMatrix result = run(kernels_, layer, x, {});
    EXPECT_LE((result.cast<double>() - exact).cwiseAbs().maxCoeff(), 1e-5);
    EXPECT_EQ(run(kernels_, layer, x, {}, Activation::kRelu), result.cwiseMax(0));
  }
}

TEST_P(PanelKernelsTest, OutliersDoNotCostTheOthersTheirPrecision) {
  const int outputs = 64, inputs = 384, tokens = lanes_ + 5;
  EigenMatrix weight = random_matrix(outputs, inputs, 0.05f, 1),
              x = random_matrix(inputs, tokens, 1, 2);
  x.row(17) *= 500;
  x.row(300).array() += 900;
  weight.col(80) *= 200;
  const PanelLinear layer(
      kernels_, Precision::kInt8, source_of(weight, std::vector<float>(outputs)));
  const EigenMatrix result = run(kernels_, layer, x, {});
  // What remains when the outliers' shares are taken out must be as good as without them.
  const EigenMatrix exact = weight * x;
  EigenMatrix rest_weight = weight, rest_x = x;
  rest_weight.col(80).setZero();
  rest_x.row(17).setZero();
  rest_x.row(300).setZero();
  const double share = (rest_weight * rest_x).norm();
  // The outlying rows of x meet 8-bit weights: their error is a share of their own size.
  const double outlying = (weight.col(17) * x.row(17) + weight.col(300) * x.row(300)).norm();
  EXPECT_LE((result - exact).norm(), 0.03 * share + 0.025 * outlying);
}

TEST_P(PanelKernelsTest, ExtremeIntegersDoNotOverflow) {
  // Largest weights against largest activations of one sign: where 16-bit sums would wrap.
  for (const float sign : {1.0f, -1.0f}) {
    const EigenMatrix weight = EigenMatrix::Constant(8, 240, 0.5f * sign),
                      x = EigenMatrix::Constant(240, lanes_, 3.0f);
    const PanelLinear layer(kernels_, Precision::kInt8, source_of(weight, std::vector<float>(8)));
    const EigenMatrix result = run(kernels_, layer, x, {});
    EXPECT_LE((result.array() - 240 * 0.5f * sign * 3.0f).abs().maxCoeff(), 0.02 * 360);
  }
}

TEST_P(PanelKernelsTest, NormalizesEachToken) {
  const int channels = 192;
  const auto x = random_buffer(channels * lanes_, 3, 5);
  AlignedBuffer<float> y(channels * lanes_);
  kernels_.normalize(x.data(), channels, 1e-6f, kernels_.lanes, y.data());
  for (int t = 0; t < lanes_; ++t) {
    double mean = 0, variance = 0, worst = 0;
    for (int c = 0; c < channels; ++c) mean += x.data()[c * lanes_ + t] / channels;
    for (int c = 0; c < channels; ++c)
      variance += std::pow(x.data()[c * lanes_ + t] - mean, 2) / channels;
    for (int c = 0; c < channels; ++c) {
      const double exact = (x.data()[c * lanes_ + t] - mean) / std::sqrt(variance + 1e-6);
      worst = std::max(worst, std::abs(exact - y.data()[c * lanes_ + t]));
    }
    EXPECT_LE(worst, 2e-6);
  }
}

TEST_P(PanelKernelsTest, GatesWithSilu) {
  const auto a = random_buffer(40 * lanes_, 6, 6), b = random_buffer(40 * lanes_, 2, 7);
  AlignedBuffer<float> y(40 * lanes_);
  kernels_.gate(a.data(), b.data(), 40, y.data());
  for (int i = 0; i < 40 * lanes_; ++i) {
    const double exact =
        a.data()[i] / (1 + std::exp(-static_cast<double>(a.data()[i]))) * b.data()[i];
    EXPECT_NEAR(y.data()[i], exact, 1e-6 * (1 + std::abs(exact)));
  }
}

TEST_P(PanelKernelsTest, SoftmaxOfARowOfAnyLength) {
  for (const int count : {1, 2, lanes_ - 1, lanes_, 3 * lanes_ + 5}) {
    const auto scores = random_buffer(count + 1, 9, 10 + count);
    std::vector<float> row(scores.data() + 1, scores.data() + count + 1);  // aligned to nothing
    const double largest = *std::ranges::max_element(row);
    const std::vector<float> before = row;
    row.push_back(-7);
    const float sum = kernels_.softmax_row(row.data(), count, 0.7f);
    double expected = 0;
    for (int i = 0; i < count; ++i) {
      const double power = 0.7 * (before[i] - largest), weight = std::exp(power);
      expected += weight;
      // The power is rounded before it is taken.
      EXPECT_NEAR(row[i], weight, 2e-7 * (1 - power) * weight) << count;
    }
    EXPECT_NEAR(sum, expected, 2e-6 * expected) << count;
    EXPECT_EQ(row.back(), -7);
  }
}

/// Keys and values of `tokens` tokens and some panels of queries, one head.
struct Head {
  static constexpr int kChannels = 64;
  Head(const PanelKernels& kernels, int tokens, float score_scale)
      : lanes(kernels.lanes),
        panels((tokens + lanes - 1) / lanes),
        stride(3 * kChannels * lanes),
        qkv(random_buffer(static_cast<std::size_t>(panels) * stride, score_scale, 8)),
        out(static_cast<std::size_t>(panels) * kChannels * lanes),
        scratch(kernels.attention_scratch + kMostQueryPanels * kChannels * lanes) {}
  float at(int part, int channel, int token) const {
    return qkv
        .data()[token / lanes * stride + (part * kChannels + channel) * lanes + token % lanes];
  }
  /// Largest error of the first `queries` panels, and the largest value.
  std::pair<double, double> error(int tokens, int queries) const {
    double worst = 0, largest = 0;
    for (int q = 0; q < std::min(tokens, queries * lanes); ++q) {
      std::vector<double> weight(tokens);
      double sum = 0, top = -1e300;
      for (int k = 0; k < tokens; ++k) {
        for (int c = 0; c < kChannels; ++c)
          weight[k] += static_cast<double>(at(0, c, q)) * at(1, c, k);
        top = std::max(top, weight[k]);
      }
      for (double& w : weight) sum += w = std::exp2(w - top);
      for (int c = 0; c < kChannels; ++c) {
        double exact = 0;
        for (int k = 0; k < tokens; ++k) exact += weight[k] / sum * at(2, c, k);
        const float found =
            out.data()[(static_cast<std::size_t>(q / lanes) * kChannels + c) * lanes + q % lanes];
        worst = std::max(worst, std::abs(exact - found));
        largest = std::max(largest, std::abs(exact));
      }
    }
    return {worst, largest};
  }
  int lanes, panels;
  std::int64_t stride;
  AlignedBuffer<float> qkv, out, scratch;
};

TEST_P(PanelKernelsTest, AttendsToAllKeys) {
  for (const int tokens : {1, 3, lanes_, lanes_ + 1, 7 * lanes_ + 5, 12 * lanes_}) {
    for (const float scale : {0.3f, 2.0f}) {  // even and peaked
      SCOPED_TRACE(testing::Message() << tokens << " tokens, " << scale);
      Head head(kernels_, tokens, scale);
      const int queries = std::min(head.panels, kMostQueryPanels);
      const float* base = head.qkv.data();
      const std::int64_t part = static_cast<std::int64_t>(Head::kChannels) * lanes_;
      kernels_.attention({base,
                          base + part,
                          base + 2 * part,
                          head.stride,
                          queries,
                          tokens,
                          Head::kChannels,
                          head.out.data(),
                          part,
                          head.scratch.data()});
      const auto [worst, largest] = head.error(tokens, queries);
      EXPECT_LE(worst, 2e-5 * largest);
    }
  }
}

TEST_P(PanelKernelsTest, AttendsInIntegers) {
  for (const int tokens : {1, 3, lanes_ + 1, 7 * lanes_ + 5}) {
    SCOPED_TRACE(testing::Message() << tokens << " tokens");
    Head head(kernels_, tokens, 0.4f);
    const int queries = std::min(head.panels, kMostQueryPanels), size = Head::kChannels * lanes_;
    AlignedBuffer<std::uint8_t> keys(static_cast<std::size_t>(head.panels) * size);
    AlignedBuffer<std::int16_t> values(static_cast<std::size_t>(head.panels) * size);
    AlignedBuffer<float> key_scale(head.panels * lanes_), value_scale(head.panels * lanes_);
    const std::int64_t part = size;
    for (int p = 0; p < head.panels; ++p) {
      const float* panel = head.qkv.data() + p * head.stride;
      kernels_.quantize_keys(
          panel + part, Head::kChannels, keys.data() + p * size, key_scale.data() + p * lanes_);
      kernels_.quantize_values(panel + 2 * part,
                               Head::kChannels,
                               values.data() + p * size,
                               value_scale.data() + p * lanes_);
    }
    kernels_.attention_int8({head.qkv.data(),
                             head.stride,
                             keys.data(),
                             values.data(),
                             key_scale.data(),
                             value_scale.data(),
                             queries,
                             tokens,
                             Head::kChannels,
                             head.out.data(),
                             part,
                             head.scratch.data()});
    const auto [worst, largest] = head.error(tokens, queries);
    EXPECT_LE(worst, 0.03 * largest);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus,
                         PanelKernelsTest,
                         testing::ValuesIn(all_kernels()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace ria
