// SPDX-License-Identifier: MIT
// EDTformer: learnt queries look at the class token and the patches in a decoder without
// feed-forward layers, and what they see is projected.
#include <fmt/format.h>

#include <stdexcept>

#include "aggregate/features.h"
#include "head/heads.h"
#include "head/layers.h"

namespace ria {

namespace {

/// q = norm1(q + attention among the queries); q = norm2(q + attention to the memory).
struct DecoderLayer {
  RowAttention own, cross;
  RowNorm norm1, norm2;
};

struct EdtformerWeights {
  RowLinear memory;
  EigenMatrix queries;  ///< behind the first layer's norm1: the same for every picture
  std::vector<DecoderLayer> layers;
  RowLinear channels;
  OverQueries rows;
};

class Edtformer final : public Aggregator {
 public:
  Edtformer(EdtformerWeights weights, int dim) : weights_(std::move(weights)), dim_(dim) {}

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const int channels = weights_.memory.inputs();
    checked_square_sums(features, channels);
    const auto token = as_eigen(features.class_token);
    if (token.size() != channels || !token.allFinite()) {
      throw std::invalid_argument(fmt::format(
          "class token has {} values, EDTformer expects {} finite ones", token.size(), channels));
    }
    EigenMatrix tokens(1 + features.patches.rows(), channels);
    tokens << token.transpose(), as_eigen(features.patches);
    const EigenMatrix memory = weights_.memory.run(tokens);
    EigenMatrix q = weights_.queries;
    for (const DecoderLayer& layer : weights_.layers) {
      if (&layer != &weights_.layers.front()) q = settled_queries(q, layer.own, layer.norm1);
      q += layer.cross.attend(layer.cross.queries(q), memory);
      layer.norm2.run(q);
    }
    return weights_.rows.run(weights_.channels.run(q));
  }

 private:
  EdtformerWeights weights_;
  int dim_;
};

}  // namespace

std::unique_ptr<Aggregator> read_edtformer(const TensorFile& file) {
  constexpr int kHeads = 16;  // whatever the width
  const HeadTensors head(
      file,
      "EDTformer head",
      {"fc.weight", "queries", "decoder.layers.0.multihead_attn.in_proj_weight"});
  EdtformerWeights weights;
  weights.memory = read_linear(head, "fc");
  const int dim = weights.memory.outputs();
  for (int i = 0, count = head.count("decoder.layers"); i < count; ++i) {
    const std::string name = fmt::format("decoder.layers.{}.", i);
    weights.layers.push_back({read_attention(head, name + "self_attn", dim, kHeads),
                              read_attention(head, name + "multihead_attn", dim, kHeads),
                              read_norm(head, name + "norm1", dim),
                              read_norm(head, name + "norm2", dim)});
  }
  const DecoderLayer& first = weights.layers.front();
  weights.queries = settled_queries(
      as_eigen(head.matrix("queries", HeadTensors::kAny, dim)), first.own, first.norm1);
  weights.channels = read_linear(head, "channel_proj", HeadTensors::kAny, dim);
  weights.rows = read_over_queries(head, "row_proj", weights.queries.rows());
  const int length = head.dim(weights.channels.outputs(), weights.rows.weight.rows());
  return std::make_unique<Edtformer>(std::move(weights), length);
}

}  // namespace ria
