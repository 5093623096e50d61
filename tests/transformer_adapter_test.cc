// SPDX-License-Identifier: MIT
// Transformers with adapters, against the equations in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backbone/vit.h"
#include "nn/transformer.h"
#include "ria/verify.h"
#include "util/cpu.h"
#include "weights/architecture.h"
#include "weights_fixture.h"

namespace ria {
namespace {

constexpr int kDim = 128, kHeads = 2, kPatch = 14, kGrid = 3, kDepth = 2;

/// A network of random weights under its published names, behind the prefix of SelaVPR's training.
class RandomNetwork {
 public:
  RandomNetwork(int adapter, bool gated, bool layer_scale, int registers = 0)
      : adapter_(adapter), gated_(gated), layer_scale_(layer_scale) {
    add("cls_token", {1, 1, kDim}, 0.5f);
    add("pos_embed", {1, 1 + kGrid * kGrid, kDim}, 0.5f);
    if (registers > 0) add("register_tokens", {1, registers, kDim}, 0.5f);
    add("patch_embed.proj.weight", {kDim, 3, kPatch, kPatch}, 0.04f);
    add("patch_embed.proj.bias", {kDim}, 0.1f);
    for (int b = 0; b < kDepth; ++b) add_block("blocks." + std::to_string(b) + ".");
    norm("norm");
  }

  TensorFile file() const { return {"network.pth", WeightFormat::torch, tensors_}; }
  TensorMap& tensors() { return tensors_; }
  static std::string stored(const std::string& name) { return "module.backbone." + name; }

  MatrixD matrix(const std::string& name) const {
    const Tensor& tensor = tensors_.at(stored(name));
    const std::vector<double> values = tensor.doubles();
    const auto rows = tensor.shape.size() == 1 ? tensor.size() : tensor.shape[0];
    return Eigen::Map<const MatrixD>(values.data(), rows, tensor.size() / rows);
  }

  /// Tokens x channels through block b, as the equations say.
  MatrixD block(MatrixD x, int b) const {
    const std::string name = "blocks." + std::to_string(b) + ".";
    MatrixD y = linear(name + "attn.proj", attended(name, normalized(name + "norm1", x)));
    if (adapter_ > 0) y += adapter(name + "adapter1", y);
    x += scaled(name + "ls1.gamma", y);
    const MatrixD n = normalized(name + "norm2", x);
    MatrixD m;
    if (gated_) {
      const MatrixD both = linear(name + "mlp.w12", n);
      const auto half = both.cols() / 2;
      m = both.leftCols(half).unaryExpr([](double v) { return v / (1 + std::exp(-v)); });
      m = linear(name + "mlp.w3", m.cwiseProduct(both.rightCols(half)));
    } else {
      m = linear(name + "mlp.fc2", linear(name + "mlp.fc1", n).unaryExpr([](double v) {
        return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
      }));
    }
    if (adapter_ > 0) m += 0.2 * adapter(name + "adapter2", n);
    return x + scaled(name + "ls2.gamma", m);
  }

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape, float scale, float mean = 0) {
    std::normal_distribution<float> normal(mean, scale);
    std::size_t count = 1;
    for (const auto side : shape) count *= static_cast<std::size_t>(side);
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine_);
    tensors_[stored(name)] = make_tensor(std::move(shape), values);
  }
  void norm(const std::string& name) {
    add(name + ".weight", {kDim}, 0.3f, 1);
    add(name + ".bias", {kDim}, 0.3f);
  }
  void layer(const std::string& name, int out, int in) {
    add(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<float>(in)));
    add(name + ".bias", {out}, 0.3f);
  }
  void add_block(const std::string& name) {
    constexpr int kHidden = 200;
    norm(name + "norm1");
    norm(name + "norm2");
    if (layer_scale_) add(name + "ls1.gamma", {kDim}, 0.5f, 0.5f);
    if (layer_scale_) add(name + "ls2.gamma", {kDim}, 0.5f, 0.5f);
    layer(name + "attn.qkv", 3 * kDim, kDim);
    layer(name + "attn.proj", kDim, kDim);
    layer(name + (gated_ ? "mlp.w12" : "mlp.fc1"), gated_ ? 2 * kHidden : kHidden, kDim);
    layer(name + (gated_ ? "mlp.w3" : "mlp.fc2"), kDim, kHidden);
    for (const char* which : {"adapter1", "adapter2"}) {
      if (adapter_ == 0) break;
      layer(name + which + ".D_fc1", adapter_, kDim);
      layer(name + which + ".D_fc2", kDim, adapter_);
    }
  }

  MatrixD linear(const std::string& name, const MatrixD& x) const {
    return (x * matrix(name + ".weight").transpose()).rowwise() +
           matrix(name + ".bias").col(0).transpose();
  }
  MatrixD adapter(const std::string& name, const MatrixD& x) const {
    return linear(name + ".D_fc2", linear(name + ".D_fc1", x).cwiseMax(0));
  }
  MatrixD scaled(const std::string& gamma, const MatrixD& x) const {
    if (!layer_scale_) return x;
    return x.array().rowwise() * matrix(gamma).col(0).transpose().array();
  }
  MatrixD normalized(const std::string& name, const MatrixD& x) const {
    MatrixD y = x.colwise() - x.rowwise().mean();
    y.array().colwise() /= (y.rowwise().squaredNorm().array() / kDim + 1e-6).sqrt();
    y.array().rowwise() *= matrix(name + ".weight").col(0).transpose().array();
    return y.rowwise() + matrix(name + ".bias").col(0).transpose();
  }
  MatrixD attended(const std::string& name, const MatrixD& x) const {
    const MatrixD qkv = linear(name + "attn.qkv", x);
    MatrixD out(x.rows(), kDim);
    for (int h = 0; h < kHeads; ++h) {
      const auto part = [&](int which) { return qkv.middleCols(which * kDim + h * 64, 64); };
      MatrixD weight = (part(0) * part(1).transpose() / 8).array().exp();
      weight.array().colwise() /= weight.rowwise().sum().array().eval();
      out.middleCols(h * 64, 64) = weight * part(2);
    }
    return out;
  }

  int adapter_;
  bool gated_, layer_scale_;
  TensorMap tensors_;
  std::mt19937 engine_{7};
};

/// 7 x 5 patches: 36 tokens with the class token, no multiple of a panel on any CPU.
Pixels picture(int height = 7, int width = 5) {
  Pixels pixels{height * kPatch, width * kPatch, {}};
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  pixels.chw.resize(3u * pixels.height * pixels.width);
  for (float& value : pixels.chw) value = normal(engine);
  return pixels;
}

Matrix tokens_after(const RandomNetwork& network,
                    int blocks,
                    Precision precision,
                    const Pixels& pixels = picture()) {
  VitOutput output;
  output.blocks = blocks;
  return Vit(network.file(), output, precision).tokens(pixels);
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

double relative_error(const Matrix& actual, const MatrixD& expected) {
  return (actual.cast<double>() - expected).norm() / expected.norm();
}

TEST(TransformerAdapters, FollowTheEquations) {
  for (const int adapter : {0, 32, 37}) {  // 37: no whole number of rows of any kernel
    for (const bool gated : {false, true}) {
      for (const bool layer_scale : {true, false}) {
        SCOPED_TRACE(testing::Message()
                     << adapter << (gated ? " gated" : " GELU") << (layer_scale ? " scaled" : ""));
        const RandomNetwork network(adapter, gated, layer_scale);
        const MatrixD start = tokens_after(network, 0, Precision::kFp32).cast<double>();
        const MatrixD one = network.block(start, 0), two = network.block(one, 1);
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
        const Matrix one = run(1);
        for (const int threads : {2, 3}) {
          EXPECT_TRUE(one == run(threads)) << threads << " threads";
        }
        set_thread_cores(0);
      }
    }
  }
}

/// Channels far larger than the others leave the 8-bit part of a layer: the next layer that reads
/// the same values must not miss them.
TEST(TransformerAdapters, OutlyingChannelsReachBothLayersBehindTheNorm) {
  RandomNetwork network(32, false, true);
  add_outliers(network);
  const MatrixD start = tokens_after(network, 0, Precision::kFp32).cast<double>();
  // What the block adds, without the large numbers it is added to.
  const MatrixD added = network.block(start, 0) - start;
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
