// SPDX-License-Identifier: MIT
// MixVPR: every channel's map is mixed over its positions, then channels and positions are
// projected. The projections commute, and the one over positions is made first because it leaves
// few: out = Wc (X Wr^T) + bc (Wr 1)^T + 1 br^T.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "aggregate/features.h"
#include "aggregate/head_tensors.h"
#include "aggregate/heads.h"
#include "nn/gemm.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

constexpr float kNormEps = 1e-5f;
constexpr Eigen::Index kChannels = 128;  // that pass through all mixers together, in the cache

/// x + W2 relu(W1 n(x) + b1) + b2 over the positions of a channel, n the layer norm, whose scale
/// and shift are part of W1 and b1.
struct Mixer {
  Matrix first;  ///< W1^T
  Vector first_bias;
  Matrix second;  ///< W2^T
  Vector second_bias;
};

struct MixVprWeights {
  std::vector<Mixer> mixers;  ///< the last one's `second` is (Wr W2)^T, its bias Wr b2
  Matrix rows;                ///< Wr^T, positions x rows
  Matrix channels;            ///< Wc
  Matrix offset;              ///< bc (Wr 1)^T + 1 br^T
};

/// Rows less their mean, over their standard deviation.
void standardize(const MatrixView& x, MatrixSpan out) {
  const float n = static_cast<float>(x.cols());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    out.row(i) = x.row(i).array() - x.row(i).sum() / n;
    out.row(i) *= 1 / std::sqrt(out.row(i).squaredNorm() / n + kNormEps);
  }
}

class MixVpr final : public Aggregator {
 public:
  MixVpr(MixVprWeights weights, int dim) : weights_(std::move(weights)), dim_(dim) {}

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const Eigen::Index channels = weights_.channels.cols(), positions = weights_.rows.rows();
    checked_square_sums(features, static_cast<int>(channels));
    if (features.patches.rows() != positions) {
      throw std::invalid_argument(fmt::format(
          "the picture gave {} patches ({}x{}), MixVPR was trained on {} and reads no other size",
          features.patches.rows(),
          features.grid_height,
          features.grid_width,
          positions));
    }
    Matrix rows(channels, weights_.rows.cols());
    for_row_blocks(channels, kChannels, [&](Eigen::Index first, Eigen::Index count) {
      mix(features.patches.middleCols(first, count), rows.middleRows(first, count));
    });
    const Matrix out = product(weights_.channels, rows) + weights_.offset;
    return unit(Eigen::Map<const Vector>(out.data(), out.size()).cast<double>());
  }

 private:
  /// Some channels through all mixers and the projection of positions.
  void mix(const MatrixView& patches, MatrixSpan rows) const {
    Matrix x = patches.transpose();
    Matrix normed(x.rows(), x.cols()), hidden;
    for (const Mixer& mixer : weights_.mixers) {
      standardize(x, normed);
      hidden.resize(x.rows(), mixer.first.cols());
      multiply(normed, mixer.first, 0, hidden);
      hidden = (hidden.rowwise() + mixer.first_bias.transpose()).cwiseMax(0.0f);
      const bool last = &mixer == &weights_.mixers.back();
      if (last) multiply(x, weights_.rows, 0, rows);
      MatrixSpan sum = last ? rows : MatrixSpan(x);
      multiply(hidden, mixer.second, 1, sum);
      sum.rowwise() += mixer.second_bias.transpose();
    }
  }

  MixVprWeights weights_;
  int dim_;
};

Mixer read_mixer(const HeadTensors& head, int number, Eigen::Index positions) {
  const auto name = [&](const char* layer) {
    return fmt::format("aggregator.mix.{}.mix.{}", number, layer);
  };
  const VectorD scale = head.vector(name("0.weight"), positions).cast<double>();
  const VectorD shift = head.vector(name("0.bias"), positions).cast<double>();
  const MatrixD first = head.matrix(name("1.weight"), HeadTensors::kAny, positions).cast<double>();
  const VectorD bias = head.vector(name("1.bias"), first.rows()).cast<double>();
  return {(first * scale.asDiagonal()).transpose().cast<float>(),
          (bias + first * shift).cast<float>(),
          head.matrix(name("3.weight"), positions, first.rows()).transpose(),
          head.vector(name("3.bias"), positions)};
}

}  // namespace

std::unique_ptr<Aggregator> read_mixvpr(const TensorFile& file) {
  const HeadTensors head(file,
                         "MixVPR head",
                         {"aggregator.mix.0.mix.0.weight",
                          "aggregator.channel_proj.weight",
                          "aggregator.row_proj.weight"});
  const Matrix rows = head.matrix("aggregator.row_proj.weight");
  const Vector row_bias = head.vector("aggregator.row_proj.bias", rows.rows());
  MixVprWeights weights;
  weights.rows = rows.transpose();
  weights.channels = head.matrix("aggregator.channel_proj.weight");
  const int dim = head.dim(weights.channels.rows(), rows.rows());
  const Vector channel_bias = head.vector("aggregator.channel_proj.bias", weights.channels.rows());
  weights.offset =
      (channel_bias * rows.rowwise().sum().transpose()).rowwise() + row_bias.transpose();
  const int depth = head.count("aggregator.mix");
  for (int i = 0; i < depth; ++i) weights.mixers.push_back(read_mixer(head, i, rows.cols()));
  Mixer& last = weights.mixers.back();
  const MatrixD projection = rows.transpose().cast<double>();
  last.second = product(MatrixD(last.second.cast<double>()), projection).cast<float>();
  last.second_bias = (projection.transpose() * last.second_bias.cast<double>()).cast<float>();
  return std::make_unique<MixVpr>(std::move(weights), dim);
}

}  // namespace ria
