// SPDX-License-Identifier: MIT
// Conv-AP: a 1x1 convolution and means over a few windows. The two commute, and means leave few
// positions, so that they are made first.
#include "aggregate/features.h"
#include "head/heads.h"
#include "head/layers.h"

namespace ria {

namespace {

/// Rows or columns of one of `parts` windows: torch's adaptive pooling, whose windows overlap where
/// the length is no multiple.
struct Window {
  Window(int part, int parts, int length)
      : first(part * length / parts), end(((part + 1) * length + parts - 1) / parts) {}
  int first, end;
};

class ConvAp final : public Aggregator {
 public:
  ConvAp(RowLinear channels, const ConvApOptions& options, int dim)
      : channels_(std::move(channels)), options_(options), dim_(dim) {}

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    checked_square_sums(features, channels_.inputs());
    check_grid(features);
    const auto patches = as_eigen(features.patches);
    EigenMatrix means(options_.rows * options_.columns, patches.cols());
    for (int r = 0; r < options_.rows; ++r) {
      const Window down(r, options_.rows, features.grid_height);
      for (int c = 0; c < options_.columns; ++c) {
        const Window across(c, options_.columns, features.grid_width);
        EigenVectorD sum = EigenVectorD::Zero(patches.cols());
        for (int y = down.first; y < down.end; ++y) {
          for (int x = across.first; x < across.end; ++x) {
            sum += patches.row(y * features.grid_width + x).transpose().cast<double>();
          }
        }
        const int cells = (down.end - down.first) * (across.end - across.first);
        means.row(r * options_.columns + c) = (sum / cells).transpose().cast<float>();
      }
    }
    const EigenMatrix out = channels_.run(means).transpose();  // [channel][row][column]
    return unit(Eigen::Map<const EigenVector>(out.data(), out.size()).cast<double>());
  }

 private:
  RowLinear channels_;
  ConvApOptions options_;
  int dim_;
};

}  // namespace

std::unique_ptr<Aggregator> read_convap(const TensorFile& file, const ConvApOptions& options) {
  const HeadTensors head(file, "Conv-AP head", {"aggregator.channel_pool.weight"});
  RowLinear channels = read_linear(head, "aggregator.channel_pool");
  const int dim = head.dim(channels.outputs(), std::int64_t{options.rows} * options.columns);
  return std::make_unique<ConvAp>(std::move(channels), options, dim);
}

}  // namespace ria
