// SPDX-License-Identifier: MIT
// SALAD: patches are assigned to clusters by optimal transport with a dustbin, and the class token
// goes beside what the clusters collect.
#include "aggregate/salad.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "aggregate/head_tensors.h"
#include "aggregate/heads.h"
#include "nn/gemm.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

constexpr int kIterations = 3;
constexpr Eigen::Index kPatches = 128;  // that pass through the layers together

/// W2 relu(W1 x + b1) + b2, weights turned over once so that patches are rows.
struct Mlp {
  Matrix first;  ///< W1^T
  Vector first_bias;
  Matrix second;  ///< W2^T
  Vector second_bias;

  void run(const MatrixView& x, MatrixSpan out) const {
    Matrix hidden(x.rows(), first.cols());
    multiply(x, first, 0, hidden);
    hidden = (hidden.rowwise() + first_bias.transpose()).cwiseMax(0.0f);
    multiply(hidden, second, 0, out);
    out.rowwise() += second_bias.transpose();
  }
};

struct SaladWeights {
  Mlp token, features, score;
  double dust_bin = 0;
};

double log_sum_exp(const VectorD& x) {
  const double largest = x.maxCoeff();
  return largest + std::log((x.array() - largest).exp().sum());
}

/// v / |v|; zeros stay.
VectorD normalized(const VectorD& v) { return v / std::max(v.norm(), 1e-12); }

class Salad final : public Aggregator {
 public:
  Salad(SaladWeights weights, int dim) : weights_(std::move(weights)), dim_(dim) {}

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const Matrix& x = features.patches;
    const Eigen::Index channels = weights_.features.first.rows();
    checked_square_sums(features, static_cast<int>(channels));
    const VectorD token = describe_token(features.class_token);
    Matrix local(x.rows(), weights_.features.second.cols());
    Matrix scores(x.rows(), weights_.score.second.cols());
    for_row_blocks(x.rows(), kPatches, [&](Eigen::Index first, Eigen::Index count) {
      weights_.features.run(x.middleRows(first, count), local.middleRows(first, count));
      weights_.score.run(x.middleRows(first, count), scores.middleRows(first, count));
    });
    const Eigen::Index clusters = scores.cols();
    const MatrixD plan =
        sinkhorn_log_plan(scores, weights_.dust_bin, kIterations).leftCols(clusters).array().exp();
    MatrixD collected = product(MatrixD(local.cast<double>().transpose()), plan);
    for (Eigen::Index k = 0; k < clusters; ++k) collected.col(k) = normalized(collected.col(k));
    VectorD out(dim_);
    out << token, Eigen::Map<const VectorD>(collected.data(), collected.size());
    return unit(out);
  }

 private:
  VectorD describe_token(const Vector& token) const {
    const Eigen::Index channels = weights_.token.first.rows();
    if (token.size() != channels || !token.allFinite()) {
      throw std::invalid_argument(
          token.size() != channels
              ? fmt::format("class token has {} values, SALAD expects {}", token.size(), channels)
              : "the class token holds NaN or infinity");
    }
    Matrix out(1, weights_.token.second.cols());
    weights_.token.run(token.transpose(), out);
    return normalized(out.row(0).transpose().cast<double>());
  }

  SaladWeights weights_;
  int dim_;
};

/// Sequentials with the second layer at this place: behind a ReLU, or behind a dropout too.
Mlp read_mlp(const HeadTensors& head, const char* name, int second, Eigen::Index inputs) {
  const auto tensor = [&](int layer, const char* kind) {
    return fmt::format("aggregator.{}.{}.{}", name, layer, kind);
  };
  const Matrix w1 = head.matrix(tensor(0, "weight"), HeadTensors::kAny, inputs);
  const Matrix w2 = head.matrix(tensor(second, "weight"), HeadTensors::kAny, w1.rows());
  return {w1.transpose(),
          head.vector(tensor(0, "bias"), w1.rows()),
          w2.transpose(),
          head.vector(tensor(second, "bias"), w2.rows())};
}

}  // namespace

MatrixD sinkhorn_log_plan(const Matrix& scores, double dust_bin, int iterations) {
  const Eigen::Index n = scores.rows(), m = scores.cols();
  if (n <= m) {
    throw std::invalid_argument(
        fmt::format("the picture gave {} patches, SALAD needs more than its {} clusters: a larger "
                    "picture is needed",
                    n,
                    m));
  }
  // Each cluster takes as much as a patch gives, the dustbin what is left.
  const double share = -std::log(static_cast<double>(n + m));
  VectorD take = VectorD::Constant(m + 1, share);
  take[m] += std::log(static_cast<double>(n - m));
  MatrixD plan(n, m + 1);
  plan << scores.cast<double>(), VectorD::Constant(n, dust_bin);
  for (int i = 0; i < iterations; ++i) {
    for (Eigen::Index k = 0; k <= m; ++k) {
      plan.col(k).array() += take[k] - log_sum_exp(plan.col(k));
    }
    for (Eigen::Index patch = 0; patch < n; ++patch) {
      plan.row(patch).array() += share - log_sum_exp(plan.row(patch).transpose());
    }
  }
  return plan.array() - share;
}

std::unique_ptr<Aggregator> read_salad(const TensorFile& file) {
  const HeadTensors head(
      file, "SALAD head", {"aggregator.cluster_features.0.weight", "aggregator.score.0.weight"});
  SaladWeights weights;
  weights.features = read_mlp(head, "cluster_features", 3, HeadTensors::kAny);
  const Eigen::Index channels = weights.features.first.rows();
  weights.score = read_mlp(head, "score", 3, channels);
  weights.token = read_mlp(head, "token_features", 2, channels);
  weights.dust_bin = head.scalar("aggregator.dust_bin");
  const int local = head.dim(weights.features.second.cols(), weights.score.second.cols());
  const int dim = head.dim(1, local + weights.token.second.cols());
  return std::make_unique<Salad>(std::move(weights), dim);
}

}  // namespace ria
