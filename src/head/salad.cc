// SPDX-License-Identifier: MIT
// SALAD: patches are assigned to clusters by optimal transport with a dustbin, and the class token
// goes beside what the clusters collect. MegaLoc is the same with a linear layer behind it.
#include "head/salad.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "head/head_tensors.h"
#include "head/heads.h"
#include "nn/gemm.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

constexpr int kIterations = 3;
constexpr Eigen::Index kPatches = 128;  // that pass through the layers together

/// W2 relu(W1 x + b1) + b2, weights turned over once so that patches are rows.
struct Mlp {
  EigenMatrix first;  ///< W1^T
  EigenVector first_bias;
  EigenMatrix second;  ///< W2^T
  EigenVector second_bias;

  void run(const MatrixView& x, MatrixSpan out) const {
    EigenMatrix hidden(x.rows(), first.cols());
    multiply(x, first, 0, hidden);
    hidden = (hidden.rowwise() + first_bias.transpose()).cwiseMax(0.0f);
    multiply(hidden, second, 0, out);
    out.rowwise() += second_bias.transpose();
  }
};

struct SaladWeights {
  Mlp token, features, score;
  double dust_bin = 0;
  LinearLayer last;  ///< MegaLoc: behind the whole; empty: none
};

double log_sum_exp(const EigenVectorD& x) {
  const double largest = x.maxCoeff();
  return largest + std::log((x.array() - largest).exp().sum());
}

/// v / |v|; zeros stay.
EigenVectorD normalized(const EigenVectorD& v) { return v / std::max(v.norm(), 1e-12); }

class Salad final : public Aggregator {
 public:
  Salad(SaladWeights weights, int dim) : weights_(std::move(weights)), dim_(dim) {}

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const auto x = as_eigen(features.patches);
    const Eigen::Index channels = weights_.features.first.rows();
    checked_square_sums(features, static_cast<int>(channels));
    const EigenVectorD token = describe_token(features.class_token);
    EigenMatrix local(x.rows(), weights_.features.second.cols());
    EigenMatrix scores(x.rows(), weights_.score.second.cols());
    for_row_blocks(x.rows(), kPatches, [&](Eigen::Index first, Eigen::Index count) {
      weights_.features.run(x.middleRows(first, count), local.middleRows(first, count));
      weights_.score.run(x.middleRows(first, count), scores.middleRows(first, count));
    });
    const Eigen::Index clusters = scores.cols();
    const EigenMatrixD plan =
        sinkhorn_log_plan(scores, weights_.dust_bin, kIterations).leftCols(clusters).array().exp();
    EigenMatrixD collected = product(local.cast<double>().transpose(), plan);
    for (Eigen::Index k = 0; k < clusters; ++k) collected.col(k) = normalized(collected.col(k));
    EigenVectorD out(token.size() + collected.size());
    out << token, Eigen::Map<const EigenVectorD>(collected.data(), collected.size());
    const Descriptor salad = unit(out);
    if (weights_.last.weight.empty()) return salad;
    const EigenVector mixed = times_vector(as_eigen(weights_.last.weight), as_eigen(salad));
    return unit((mixed + as_eigen(weights_.last.bias)).cast<double>());
  }

 private:
  EigenVectorD describe_token(const Vector& values) const {
    const auto token = as_eigen(values);
    const Eigen::Index channels = weights_.token.first.rows();
    if (token.size() != channels || !token.allFinite()) {
      throw std::invalid_argument(
          token.size() != channels
              ? fmt::format("class token has {} values, SALAD expects {}", token.size(), channels)
              : "the class token holds NaN or infinity");
    }
    EigenMatrix out(1, weights_.token.second.cols());
    weights_.token.run(token.transpose(), out);
    return normalized(out.row(0).transpose().cast<double>());
  }

  SaladWeights weights_;
  int dim_;
};

/// Sequentials with the second layer at this place: behind a ReLU, or behind a dropout too.
Mlp read_mlp(const HeadTensors& head, const std::string& name, int second, std::int64_t inputs) {
  const auto tensor = [&](int layer, const char* kind) {
    return fmt::format("{}.{}.{}", name, layer, kind);
  };
  const Matrix w1 = head.matrix(tensor(0, "weight"), HeadTensors::kAny, inputs);
  const Matrix w2 = head.matrix(tensor(second, "weight"), HeadTensors::kAny, w1.rows());
  return {as_eigen(w1).transpose(),
          as_eigen(head.vector(tensor(0, "bias"), w1.rows())),
          as_eigen(w2).transpose(),
          as_eigen(head.vector(tensor(second, "bias"), w2.rows()))};
}

HeadTensors find_head(const TensorFile& file, const char* name, const std::string& root) {
  return {file, name, {root + ".cluster_features.0.weight", root + ".score.0.weight"}};
}

/// The layers below `root`, and how long what they make is.
std::pair<SaladWeights, int> read_layers(const HeadTensors& head, const std::string& root) {
  SaladWeights weights;
  weights.features = read_mlp(head, root + ".cluster_features", 3, HeadTensors::kAny);
  const Eigen::Index channels = weights.features.first.rows();
  weights.score = read_mlp(head, root + ".score", 3, channels);
  weights.token = read_mlp(head, root + ".token_features", 2, channels);
  weights.dust_bin = head.scalar(root + ".dust_bin");
  const int local = head.dim(weights.features.second.cols(), weights.score.second.cols());
  const int dim = head.dim(1, local + weights.token.second.cols());
  return {std::move(weights), dim};
}

}  // namespace

EigenMatrixD sinkhorn_log_plan(const EigenMatrix& scores, double dust_bin, int iterations) {
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
  EigenVectorD take = EigenVectorD::Constant(m + 1, share);
  take[m] += std::log(static_cast<double>(n - m));
  EigenMatrixD plan(n, m + 1);
  plan << scores.cast<double>(), EigenVectorD::Constant(n, dust_bin);
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
  const std::string root = "aggregator";
  auto [weights, dim] = read_layers(find_head(file, "SALAD head", root), root);
  return std::make_unique<Salad>(std::move(weights), dim);
}

std::unique_ptr<Aggregator> read_megaloc(const TensorFile& file) {
  const std::string root = "aggregator.agg";
  const HeadTensors head = find_head(file, "MegaLoc head", root);
  auto [weights, inputs] = read_layers(head, root);
  weights.last.weight = head.matrix("aggregator.linear.weight", HeadTensors::kAny, inputs);
  const int dim = head.dim(1, weights.last.weight.rows());
  weights.last.bias = head.vector("aggregator.linear.bias", dim);
  return std::make_unique<Salad>(std::move(weights), dim);
}

}  // namespace ria
