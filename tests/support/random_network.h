// SPDX-License-Identifier: MIT
// A small transformer of random weights, as a file and as equations in double precision.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ria/eigen.h"
#include "ria/image.h"
#include "tensor/tensor.h"

namespace ria {

inline constexpr int kDim = 128, kHeads = 2, kPatch = 14, kGrid = 3, kDepth = 2;

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

  EigenMatrixD matrix(const std::string& name) const {
    const Tensor& tensor = tensors_.at(stored(name));
    const std::vector<double> values = tensor.doubles();
    const auto rows = tensor.shape.size() == 1 ? tensor.size() : tensor.shape[0];
    return Eigen::Map<const EigenMatrixD>(values.data(), rows, tensor.size() / rows);
  }

  /// Tokens x channels through block b, as the equations say.
  EigenMatrixD block(EigenMatrixD x, int b) const {
    const std::string name = "blocks." + std::to_string(b) + ".";
    EigenMatrixD y = linear(name + "attn.proj", attended(name, normalized(name + "norm1", x)));
    if (adapter_ > 0) y += adapter(name + "adapter1", y);
    x += scaled(name + "ls1.gamma", y);
    const EigenMatrixD n = normalized(name + "norm2", x);
    EigenMatrixD m;
    if (gated_) {
      const EigenMatrixD both = linear(name + "mlp.w12", n);
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

  /// What the MLP of block b reads, and what beside it reads too.
  EigenMatrixD before_mlp(const EigenMatrixD& x, int b) const {
    const std::string name = "blocks." + std::to_string(b) + ".";
    const EigenMatrixD y =
        linear(name + "attn.proj", attended(name, normalized(name + "norm1", x)));
    return normalized(name + "norm2", x + scaled(name + "ls1.gamma", y));
  }
  EigenMatrixD linear(const std::string& name, const EigenMatrixD& x) const {
    return (x * matrix(name + ".weight").transpose()).rowwise() +
           matrix(name + ".bias").col(0).transpose();
  }
  EigenMatrixD scaled(const std::string& gamma, const EigenMatrixD& x) const {
    if (!layer_scale_) return x;
    return x.array().rowwise() * matrix(gamma).col(0).transpose().array();
  }

  void add(const std::string& name, std::vector<std::int64_t> shape, float scale, float mean = 0) {
    std::normal_distribution<float> normal(mean, scale);
    std::size_t count = 1;
    for (const auto side : shape) count *= static_cast<std::size_t>(side);
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine_);
    tensors_[stored(name)] = make_tensor(std::move(shape), values);
  }

 private:
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

  EigenMatrixD adapter(const std::string& name, const EigenMatrixD& x) const {
    return linear(name + ".D_fc2", linear(name + ".D_fc1", x).cwiseMax(0));
  }
  EigenMatrixD normalized(const std::string& name, const EigenMatrixD& x) const {
    EigenMatrixD y = x.colwise() - x.rowwise().mean();
    y.array().colwise() /= (y.rowwise().squaredNorm().array() / kDim + 1e-6).sqrt();
    y.array().rowwise() *= matrix(name + ".weight").col(0).transpose().array();
    return y.rowwise() + matrix(name + ".bias").col(0).transpose();
  }
  EigenMatrixD attended(const std::string& name, const EigenMatrixD& x) const {
    const EigenMatrixD qkv = linear(name + "attn.qkv", x);
    EigenMatrixD out(x.rows(), kDim);
    for (int h = 0; h < kHeads; ++h) {
      const auto part = [&](int which) { return qkv.middleCols(which * kDim + h * 64, 64); };
      EigenMatrixD weight = (part(0) * part(1).transpose() / 8).array().exp();
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
inline Pixels picture(int height = 7, int width = 5) {
  Pixels pixels{height * kPatch, width * kPatch, {}};
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  pixels.chw.resize(3u * pixels.height * pixels.width);
  for (float& value : pixels.chw) value = normal(engine);
  return pixels;
}

}  // namespace ria
