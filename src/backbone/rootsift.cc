// SPDX-License-Identifier: MIT
#include "backbone/rootsift.h"

#include <cmath>

namespace ria {

namespace {

constexpr int kStep = 8;                        // pixels between grid points
constexpr float kCells[] = {4.0f, 6.0f, 9.0f};  // pixels; a window is four cells wide
constexpr int kBins = 128;

/// Hellinger kernel on histograms: L1-normalise, then the square root (Arandjelovic and Zisserman
/// 2012). A window without gradients stays zero.
void root(float* histogram) {
  float sum = 0;
  for (int b = 0; b < kBins; ++b) sum += histogram[b];
  const float scale = sum > 0 ? 1 / sum : 0;
  for (int b = 0; b < kBins; ++b) histogram[b] = std::sqrt(histogram[b] * scale);
}

class RootSift final : public Backbone {
 public:
  std::string name() const override { return "rootsift"; }
  int dim() const override { return kBins; }
  std::string weights_sha256() const override { return ""; }
  double flops(int, int) const override { return 0; }

  Preprocessing preprocessing() const override {
    Preprocessing pre;
    pre.normalization = Normalization::kRaw;
    pre.longest_side = 480;
    pre.min_side = 32;
    return pre;
  }

  /// One row for each grid point and scale, scale by scale.
  PatchFeatures extract(const Pixels& pixels) const override {
    std::vector<DenseSift> scales;
    int rows = 0;
    for (const float cell : kCells) {
      scales.push_back(dense_sift(pixels, kStep, cell));
      rows += static_cast<int>(scales.back().histograms.size()) / kBins;
    }
    PatchFeatures features{Matrix(rows, kBins), scales[0].grid_height, scales[0].grid_width, {}};
    float* row = features.patches.data();
    for (const DenseSift& scale : scales) {
      row = std::copy(scale.histograms.begin(), scale.histograms.end(), row);
    }
    for (int i = 0; i < rows; ++i) root(features.patches.row(i).data());
    return features;
  }
};

}  // namespace

std::unique_ptr<Backbone> make_rootsift() { return std::make_unique<RootSift>(); }

}  // namespace ria
