// SPDX-License-Identifier: MIT
// QAA: learnt queries look at the patches and score clusters; what is summed by the scores is
// learnt too, so that the picture speaks through the scores alone.
#include <fmt/format.h>

#include <stdexcept>

#include "aggregate/features.h"
#include "head/heads.h"
#include "head/layers.h"

namespace ria {

namespace {

struct QaaWeights {
  EigenMatrix turned_features;  ///< L x queries
  EigenMatrix queries;          ///< projected for `cross`
  RowAttention cross;
  RowNorm norm;
  RowLinear clusters;
  RowNorm cluster_norm;            ///< empty: none
  RowLinear token_up, token_down;  ///< empty: the class token is left out
};

class Qaa final : public Aggregator {
 public:
  Qaa(QaaWeights weights, int dim) : weights_(std::move(weights)), dim_(dim) {}

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    checked_square_sums(features, weights_.cross.dim());
    EigenMatrix seen = weights_.cross.attend(weights_.queries, as_eigen(features.patches));
    weights_.norm.run(seen);
    EigenMatrix scores = weights_.clusters.run(seen);
    if (weights_.cluster_norm.weight.size() > 0) weights_.cluster_norm.run(scores);
    EigenMatrixD sums =
        product(weights_.turned_features.cast<double>().eval(), scores.cast<double>().eval());
    for (Eigen::Index k = 0; k < sums.cols(); ++k) {
      sums.col(k) /= std::max(sums.col(k).norm(), 1e-12);
    }
    const EigenVectorD token = describe_token(features.class_token);
    EigenVectorD out(token.size() + sums.size());
    out << token, Eigen::Map<const EigenVectorD>(sums.data(), sums.size());
    return unit(out);
  }

 private:
  EigenVectorD describe_token(const Vector& values) const {
    if (weights_.token_down.outputs() == 0) return {};
    const auto token = as_eigen(values);
    if (token.size() != weights_.token_up.inputs() || !token.allFinite()) {
      throw std::invalid_argument(
          fmt::format("class token has {} values, QAA expects {} finite ones",
                      token.size(),
                      weights_.token_up.inputs()));
    }
    EigenMatrix hidden = weights_.token_up.run(EigenMatrix(token.transpose()));
    relu(hidden);
    const EigenVectorD out = weights_.token_down.run(hidden).row(0).transpose().cast<double>();
    return out / std::max(out.norm(), 1e-12);
  }

  QaaWeights weights_;
  int dim_;
};

EigenMatrix read_queries(const HeadTensors& head, const std::string& name, int heads) {
  const EigenMatrix queries = as_eigen(head.matrix(name + ".queries"));
  const int dim = static_cast<int>(queries.cols());
  return settled_queries(queries,
                         read_attention(head, name + ".self_attn", dim, heads),
                         read_norm(head, name + ".norm_q", dim));
}

}  // namespace

std::unique_ptr<Aggregator> read_qaa(const TensorFile& file, const QaaOptions& options) {
  const HeadTensors head(file,
                         "QAA head",
                         {"aggregator.queries_feature.queries",
                          "aggregator.queries_score.queries",
                          "aggregator.score.conv.weight"});
  QaaWeights weights;
  weights.turned_features =
      read_queries(head, "aggregator.queries_feature", options.feature_heads).transpose();
  const EigenMatrix queries = read_queries(head, "aggregator.queries_score", options.score_heads);
  const int channels = static_cast<int>(queries.cols());
  weights.cross =
      read_attention(head, "aggregator.score.cross_attn", channels, options.score_heads);
  weights.queries = weights.cross.queries(queries);
  weights.norm = read_norm(head, "aggregator.score.norm_out", channels);
  weights.clusters = read_linear(head, "aggregator.score.conv", HeadTensors::kAny, channels);
  const int clusters = weights.clusters.outputs();
  if (options.out_norm)
    weights.cluster_norm = read_norm(head, "aggregator.score.norm2_out", clusters);
  if (queries.rows() != weights.turned_features.cols()) {
    head.refuse(
        "aggregator.queries_score.queries",
        fmt::format(
            "has {} queries, {} were expected", queries.rows(), weights.turned_features.cols()));
  }
  if (head.has("aggregator.token_features.0.weight")) {
    weights.token_up =
        read_linear(head, "aggregator.token_features.0", HeadTensors::kAny, channels);
    weights.token_down = read_linear(
        head, "aggregator.token_features.2", HeadTensors::kAny, weights.token_up.outputs());
  }
  const int local = head.dim(weights.turned_features.rows(), clusters);
  const int dim = head.dim(1, local + weights.token_down.outputs());
  return std::make_unique<Qaa>(std::move(weights), dim);
}

}  // namespace ria
