// SPDX-License-Identifier: MIT
// Bag of Queries: learnt queries look at the patches between encoder layers, and what they see is
// projected.
#include <fmt/format.h>

#include "aggregate/features.h"
#include "head/heads.h"
#include "head/layers.h"
#include "nn/conv_net.h"

namespace ria {

namespace {

constexpr int kHeadChannels = 64;

/// x = encoder(x); out = norm(attention of the queries to x).
struct Bag {
  RowEncoderLayer encoder;
  EigenMatrix queries;  ///< settled among themselves and projected: the same for every picture
  RowAttention cross;
  RowNorm norm;
};

struct BoqWeights {
  std::unique_ptr<ConvNet> input;  ///< 3x3, D -> C
  int features = 0;                ///< D
  RowNorm norm;
  std::vector<Bag> bags;
  OverQueries last;  ///< of all bags
};

class Boq final : public Aggregator {
 public:
  Boq(BoqWeights weights, int dim) : weights_(std::move(weights)), dim_(dim) {}

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    checked_square_sums(features, weights_.features);
    EigenMatrix x = convolve(features);
    weights_.norm.run(x);
    EigenMatrix seen(weights_.last.weight.cols(), x.cols());
    Eigen::Index first = 0;
    for (const Bag& bag : weights_.bags) {
      bag.encoder.run(x);
      EigenMatrix out = bag.cross.attend(bag.queries, x);
      bag.norm.run(out);
      seen.middleRows(first, out.rows()) = out;
      first += out.rows();
    }
    return weights_.last.run(seen);
  }

 private:
  EigenMatrix convolve(const PatchFeatures& features) const {
    check_grid(features);
    Pixels map{
        features.grid_height, features.grid_width, std::vector<float>(features.patches.size())};
    const auto patches = as_eigen(features.patches);
    Eigen::Map<EigenMatrix>(map.chw.data(), patches.cols(), patches.rows()) = patches.transpose();
    EigenMatrix out;
    weights_.input->run(map, [&](int height, int width, int channels) {
      out.resize(static_cast<Eigen::Index>(height) * width, channels);
      return out.data();
    });
    return out;
  }

  BoqWeights weights_;
  int dim_;
};

std::unique_ptr<ConvNet> read_input(const HeadTensors& head, int& features, int& channels) {
  const std::string name = "aggregator.proj_c";
  ConvStep step;
  Convolution& conv = step.convolution;
  conv.kernel = 3;
  conv.pad = 1;
  conv.weight = head.values(name + ".weight", {HeadTensors::kAny, HeadTensors::kAny, 3, 3});
  conv.out = channels = static_cast<int>(head.length(name + ".weight", 0));
  conv.in = features = static_cast<int>(head.length(name + ".weight", 1));
  conv.bias = head.vector(name + ".bias", channels);
  std::vector<ConvStep> steps;
  steps.push_back(std::move(step));
  return std::make_unique<ConvNet>(
      std::move(steps), std::vector<int>{1}, Precision::kFp32, features);
}

Bag read_bag(const HeadTensors& head, int number, int channels) {
  const auto name = [&](const char* layer) {
    return fmt::format("aggregator.boqs.{}.{}", number, layer);
  };
  const int heads = std::max(1, channels / kHeadChannels);
  Bag bag{read_encoder_layer(head, name("encoder"), channels, heads, relu),
          {},
          read_attention(head, name("cross_attn"), channels, heads),
          read_norm(head, name("norm_out"), channels)};
  const EigenMatrix queries = as_eigen(head.matrix(name("queries"), HeadTensors::kAny, channels));
  bag.queries =
      bag.cross.queries(settled_queries(queries,
                                        read_attention(head, name("self_attn"), channels, heads),
                                        read_norm(head, name("norm_q"), channels)));
  return bag;
}

}  // namespace

std::unique_ptr<Aggregator> read_boq(const TensorFile& file) {
  const HeadTensors head(
      file,
      "BoQ head",
      {"aggregator.proj_c.weight", "aggregator.boqs.0.queries", "aggregator.fc.weight"});
  BoqWeights weights;
  int channels = 0;
  weights.input = read_input(head, weights.features, channels);
  weights.norm = read_norm(head, "aggregator.norm_input", channels);
  Eigen::Index queries = 0;
  for (int i = 0, count = head.count("aggregator.boqs"); i < count; ++i) {
    weights.bags.push_back(read_bag(head, i, channels));
    queries += weights.bags.back().queries.rows();
  }
  weights.last = read_over_queries(head, "aggregator.fc", queries);
  const int dim = head.dim(channels, weights.last.weight.rows());
  return std::make_unique<Boq>(std::move(weights), dim);
}

}  // namespace ria
