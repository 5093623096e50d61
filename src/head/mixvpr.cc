// SPDX-License-Identifier: MIT
// MixVPR: every channel's map is mixed over its positions, then channels and positions are
// projected. The projections commute, and the one over positions is made first because it leaves
// few: out = Wc (X Wr^T) + bc (Wr 1)^T + 1 br^T.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "aggregate/features.h"
#include "head/head_tensors.h"
#include "head/heads.h"
#include "nn/gemm.h"
#include "nn/layer_source.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

constexpr float kNormEps = 1e-5f;
constexpr int kPanels = 4;  // that pass through all mixers together, in the cache

/// x + W2 relu(W1 n(x) + b1) + b2 over the positions of a channel, n the layer norm.
struct Mixer {
  PanelLinear first;   ///< with the norm's scale and shift
  PanelLinear second;  ///< of the last mixer: Wr W2 and Wr b2
};

/// Channels are what panel_kernels.h calls tokens, positions what it calls channels: the patches of
/// a picture lie as panels need them.
struct MixVprWeights {
  const PanelKernels* kernels = nullptr;
  std::vector<Mixer> mixers;
  PanelLinear rows;    ///< Wr
  Matrix channels;     ///< Wc
  EigenMatrix offset;  ///< bc (Wr 1)^T + 1 br^T
};

class MixVpr final : public Aggregator {
 public:
  explicit MixVpr(MixVprWeights weights) : weights_(std::move(weights)) {}

  int dim() const override { return static_cast<int>(weights_.offset.size()); }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const int channels = weights_.channels.cols();
    checked_square_sums(features, channels);
    if (features.patches.rows() != weights_.rows.inputs()) {
      throw std::invalid_argument(fmt::format(
          "the picture gave {} patches ({}x{}), MixVPR was trained on {} and reads no other size",
          features.patches.rows(),
          features.grid_height,
          features.grid_width,
          weights_.rows.inputs()));
    }
    const auto patches = as_eigen(features.patches);
    EigenMatrix rows(channels, weights_.rows.outputs());
    for_row_blocks(
        channels, kPanels * weights_.kernels->lanes, [&](Eigen::Index first, Eigen::Index count) {
          mix(patches.middleCols(first, count), rows.middleRows(first, count));
        });
    const EigenMatrix out = product(as_eigen(weights_.channels), rows) + weights_.offset;
    return unit(Eigen::Map<const EigenVector>(out.data(), out.size()).cast<double>());
  }

 private:
  /// A buffer of panels with room for a layer's outputs, which kernels write in whole groups.
  Panels panels_for(AlignedBuffer<float>& buffer, int panels, int values) const {
    const int groups = (values + weights_.kernels->rows - 1) / weights_.kernels->rows;
    const std::int64_t stride =
        static_cast<std::int64_t>(groups) * weights_.kernels->rows * weights_.kernels->lanes;
    buffer = AlignedBuffer<float>(static_cast<std::size_t>(panels * stride));
    return {buffer.data(), stride};
  }

  /// Some channels (columns) through all mixers and the projection of positions.
  void mix(const MatrixView& patches, MatrixSpan out) const {
    const int lanes = weights_.kernels->lanes, positions = static_cast<int>(patches.rows());
    const int channels = static_cast<int>(patches.cols());
    const int panels = (channels + lanes - 1) / lanes;
    const PanelLanes all{panels, 0, channels - (panels - 1) * lanes};
    int widest = 0;
    for (const Mixer& mixer : weights_.mixers) widest = std::max(widest, mixer.first.outputs());
    AlignedBuffer<float> buffers[4];
    const Panels x = panels_for(buffers[0], panels, positions);
    const Panels normed = panels_for(buffers[1], panels, positions);
    const Panels hidden = panels_for(buffers[2], panels, widest);
    const Panels rows = panels_for(buffers[3], panels, weights_.rows.outputs());
    for (int c = 0; c < channels; c += lanes) {
      for (int i = 0; i < positions; ++i) {
        std::copy_n(patches.row(i).data() + c,
                    std::min(lanes, channels - c),
                    x.data + c / lanes * x.stride + static_cast<std::int64_t>(i) * lanes);
      }
    }
    LinearScratch none;  // float32 layers need no room
    for (const Mixer& mixer : weights_.mixers) {
      for (int p = 0; p < panels; ++p) {
        weights_.kernels->normalize(
            x.data + p * x.stride, positions, kNormEps, lanes, normed.data + p * normed.stride);
      }
      mixer.first.run(normed, hidden, all, false, Activation::kRelu, none);
      const bool ends = &mixer == &weights_.mixers.back();
      if (ends) weights_.rows.run(x, rows, all, false, Activation::kNone, none);
      mixer.second.run(hidden, ends ? rows : x, all, true, Activation::kNone, none);
    }
    for (int c = 0; c < channels; ++c) {
      const float* lane = rows.data + c / lanes * rows.stride + c % lanes;
      for (Eigen::Index r = 0; r < out.cols(); ++r) out(c, r) = lane[r * lanes];
    }
  }

  MixVprWeights weights_;
};

LinearSource source_of(const Matrix& weight, const Vector& bias) {
  return {weight.rows(),
          weight.cols(),
          [&weight](int row, float* values) { std::ranges::copy(weight.row(row), values); },
          bias};
}

/// `rows`: Wr, for the last mixer; empty for the others.
Mixer read_mixer(const HeadTensors& head,
                 const PanelKernels& kernels,
                 int number,
                 int positions,
                 const Matrix& rows) {
  const auto name = [&](const char* layer) {
    return fmt::format("aggregator.mix.{}.mix.{}", number, layer);
  };
  const NormSource norm{head.vector(name("0.weight"), positions),
                        head.vector(name("0.bias"), positions)};
  const Matrix first = head.matrix(name("1.weight"), HeadTensors::kAny, positions);
  const Vector first_bias = head.vector(name("1.bias"), first.rows());
  Matrix second = head.matrix(name("3.weight"), positions, first.rows());
  Vector second_bias = head.vector(name("3.bias"), positions);
  if (rows.size() > 0) {
    const EigenMatrixD wide = as_eigen(rows).cast<double>();
    second = to_matrix(product(wide, as_eigen(second).cast<double>()).cast<float>());
    second_bias = to_vector((wide * as_eigen(second_bias).cast<double>()).cast<float>());
  }
  return {PanelLinear(kernels, Precision::kFp32, behind_norm(source_of(first, first_bias), norm)),
          PanelLinear(kernels, Precision::kFp32, source_of(second, second_bias))};
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
  weights.kernels = panel_kernels().front();
  weights.channels = head.matrix("aggregator.channel_proj.weight");
  head.dim(weights.channels.rows(), rows.rows());
  const Vector channel_bias = head.vector("aggregator.channel_proj.bias", weights.channels.rows());
  weights.offset = (as_eigen(channel_bias) * as_eigen(rows).rowwise().sum().transpose()).rowwise() +
                   as_eigen(row_bias).transpose();
  weights.rows =
      PanelLinear(*weights.kernels, Precision::kFp32, source_of(rows, Vector(rows.rows())));
  const int depth = head.count("aggregator.mix");
  for (int i = 0; i < depth; ++i) {
    weights.mixers.push_back(
        read_mixer(head, *weights.kernels, i, rows.cols(), i + 1 == depth ? rows : Matrix()));
  }
  return std::make_unique<MixVpr>(std::move(weights));
}

}  // namespace ria
