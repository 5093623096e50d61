// SPDX-License-Identifier: MIT
// Transformers with adapters, against the equations in double precision.
#include <gtest/gtest.h>

#include "backbone/vit.h"
#include "nn/transformer.h"
#include "ria/verify.h"
#include "support/random_network.h"
#include "support/weights_fixture.h"
#include "util/cpu.h"
#include "weights/architecture.h"

namespace ria {
namespace {

EigenMatrix tokens_after(const RandomNetwork& network,
                         int blocks,
                         Precision precision,
                         const Pixels& pixels = picture()) {
  VitOutput output;
  output.blocks = blocks;
  return as_eigen(Vit(network.file(), output, precision).tokens(pixels));
}

/// Two channels far larger than the others, the way trained transformers have them.
void add_outliers(RandomNetwork& network) {
  Tensor& table = network.tensors().at(RandomNetwork::stored("pos_embed"));
  std::vector<float> values = table.floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % kDim == 17) values[i] += 60;
    if (i % kDim == 90) values[i] -= 45;
  }
  table = make_tensor(table.shape, values);
}

double relative_error(const EigenMatrix& actual, const EigenMatrixD& expected) {
  return (actual.cast<double>() - expected).norm() / expected.norm();
}

TEST(TransformerAdapters, FollowTheEquations) {
  for (const int adapter : {0, 32, 37}) {  // 37: no whole number of rows of any kernel
    for (const bool gated : {false, true}) {
      for (const bool layer_scale : {true, false}) {
        SCOPED_TRACE(testing::Message()
                     << adapter << (gated ? " gated" : " GELU") << (layer_scale ? " scaled" : ""));
        const RandomNetwork network(adapter, gated, layer_scale);
        const EigenMatrixD start = tokens_after(network, 0, Precision::kFp32).cast<double>();
        const EigenMatrixD one = network.block(start, 0), two = network.block(one, 1);
        EXPECT_LE(relative_error(tokens_after(network, 1, Precision::kFp32), one), 2e-6);
        EXPECT_LE(relative_error(tokens_after(network, 2, Precision::kFp32), two), 2e-6);
        EXPECT_LE(relative_error(tokens_after(network, 2, Precision::kInt8), two), 0.04);
        EXPECT_GT(relative_error(tokens_after(network, 2, Precision::kInt8), two), 1e-4);
        if (cpu_has_bf16() || std::string(panel_kernels().front()->name) != "avx512") {
          EXPECT_LE(relative_error(tokens_after(network, 2, Precision::kBf16), two), 0.02);
        }
      }
    }
  }
}

TEST(TransformerAdapters, SameBitsForAnyNumberOfThreads) {
  for (const int adapter : {0, 37}) {
    RandomNetwork network(adapter, false, true);
    for (const bool outliers : {false, true}) {
      if (outliers) add_outliers(network);
      for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
        SCOPED_TRACE(testing::Message() << "adapter " << adapter << (outliers ? ", outliers" : "")
                                        << (precision == Precision::kInt8 ? ", int8" : ", fp32"));
        const auto run = [&](int threads) {
          set_thread_cores(threads);
          return tokens_after(network, 2, precision, picture(20, 11));
        };
        const EigenMatrix one = run(1);
        for (const int threads : {2, 3}) {
          EXPECT_TRUE(one == run(threads)) << threads << " threads";
        }
        set_thread_cores(0);
      }
    }
  }
}

/// Two groups of tokens may lie in one panel, the larger one's thread later at every step: what it
/// starts with must not reach the other's tokens. Many channels make that likely.
TEST(TransformerAdapters, ThreadsThatShareAPanelKeepToTheirTokens) {
  constexpr int kChannels = 1536, kPixels = 1;
  Transformer network({kChannels, 1, 1}, Precision::kFp32);
  network.set_embedding({kChannels, kPixels, [](int row, float* to) { *to = 1.0f + row; }, {}});
  const auto run = [&](int tokens, int threads) {
    set_thread_cores(threads);
    return network.run(
        [&](int first, int count, int lanes, float* panel) {
          for (int t = 0; t < lanes; ++t) panel[t] = t < count ? 1.0f + first + t : 0.0f;
        },
        Matrix(tokens, kChannels));
  };
  const int width = panel_kernels().front()->width, lanes = panel_kernels().front()->lanes;
  for (const int tokens : {width + 1, lanes, 2 * lanes - 1, 5 * lanes + width + 1}) {
    const Matrix one = run(tokens, 1);
    for (int round = 0; round < 50; ++round) {
      ASSERT_TRUE(as_eigen(one) == as_eigen(run(tokens, 2 + round % 3))) << tokens << " tokens";
    }
  }
  set_thread_cores(0);
}

/// Channels far larger than the others leave the 8-bit part of a layer: the next layer that reads
/// the same values must not miss them.
TEST(TransformerAdapters, OutlyingChannelsReachBothLayersBehindTheNorm) {
  RandomNetwork network(32, false, true);
  add_outliers(network);
  const EigenMatrixD start = tokens_after(network, 0, Precision::kFp32).cast<double>();
  // What the block adds, without the large numbers it is added to.
  const EigenMatrixD added = network.block(start, 0) - start;
  EXPECT_LE(relative_error(tokens_after(network, 1, Precision::kInt8) - start.cast<float>(), added),
            0.04);
}

TEST(TransformerAdapters, AreCountedAndNamed) {
  const auto flops = [](const RandomNetwork& network) {
    VitOutput output;
    output.blocks = kDepth;
    return Vit(network.file(), output, Precision::kFp32).flops(36);
  };
  const RandomNetwork plain(0, false, true), adapted(32, false, true);
  EXPECT_DOUBLE_EQ(flops(adapted) - flops(plain), kDepth * 2.0 * 36 * 4 * 32 * kDim);
  EXPECT_EQ(infer_architecture(adapted.file()), "dinov2");
  EXPECT_EQ(describe_architecture(adapted.file()), "dinov2 with adapters");
  EXPECT_EQ(describe_architecture(plain.file()), "dinov2");
}

TEST(TransformerAdapters, PublishedSizesKeepTheirNames) {
  VitShape shape;
  shape.dim = 1024;
  shape.depth = 24;
  shape.patch = 14;
  shape.layer_scale = true;
  shape.adapter = 512;
  EXPECT_EQ(vit_architecture(shape), "dinov2-vitl14");
  shape.registers = 4;
  EXPECT_EQ(vit_architecture(shape), "dinov2-vitl14-reg");
}

/// Registers alone mean another rule for positions; with adapters they do not.
TEST(TransformerAdapters, WithRegistersKeepThePositionsOfNetworksWithout) {
  const auto patches = [](int adapter, std::optional<PositionRule> rule) {
    const RandomNetwork network(adapter, false, true, 4);
    BackboneOptions options;
    options.layer = 0;
    options.facet = Facet::kToken;
    options.position_rule = rule;
    return make_vit({"dinov2", network.file(), ""}, options)->extract(picture()).patches;
  };
  EXPECT_EQ(patches(32, std::nullopt), patches(32, PositionRule::kHub));
  EXPECT_EQ(patches(0, std::nullopt), patches(0, PositionRule::kReg));
  EXPECT_NE(patches(32, PositionRule::kHub), patches(32, PositionRule::kReg));
}

void expect_refused(const RandomNetwork& network, const std::string& words) {
  weights_test::expect_error(
      [&] { tokens_after(network, kDepth, Precision::kFp32); }, "network.pth", words);
}

TEST(TransformerAdapters, HalfAnAdapterIsRefused) {
  const RandomNetwork whole(32, false, true);
  for (const auto& [stored, tensor] : whole.file().tensors()) {
    if (stored.find(".adapter") == std::string::npos) continue;
    SCOPED_TRACE(stored);
    const std::string name = stored.substr(RandomNetwork::stored("").size());
    RandomNetwork broken = whole;
    broken.tensors().erase(stored);
    expect_refused(broken, name + " is missing");
    broken = whole;
    std::vector<std::int64_t> other = tensor.shape;
    other[0] += 1;
    std::vector<float> values = tensor.floats();
    values.resize(values.size() / tensor.shape[0] * other[0]);
    broken.tensors().at(stored) = make_tensor(other, values);
    expect_refused(broken, "expected");
  }
}

TEST(TransformerAdapters, TransposedAndForeignOnesAreRefused) {
  RandomNetwork broken(32, false, true);
  const std::string name = RandomNetwork::stored("blocks.1.adapter2.D_fc2.weight");
  Tensor& weight = broken.tensors().at(name);
  weight = make_tensor({32, kDim}, weight.floats());
  expect_refused(broken, name + " has 32 rows, 128 were expected");
  RandomNetwork foreign(32, false, true);
  const std::string extra = RandomNetwork::stored("blocks.1.adapter1.conv.weight");
  foreign.tensors()[extra] = make_tensor({1}, {1.0f});
  expect_refused(foreign, extra + " belongs to an adapter of an unknown kind");
}

}  // namespace
}  // namespace ria
