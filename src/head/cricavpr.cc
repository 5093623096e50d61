// SPDX-License-Identifier: MIT
// CricaVPR: the class token and generalised means of 2x2 and 3x3 regions, compared across pictures.
#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "aggregate/features.h"
#include "head/cross_image.h"
#include "head/heads.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

constexpr char kExponent[] = "aggregation.1.p";

/// Where rows and columns are cut, whatever the grid: as published, for one of 16 x 16.
constexpr std::array<int, 1> kHalves{8};
constexpr std::array<int, 2> kThirds{5, 11};

/// Part of a grid: [top, bottom) x [left, right).
struct Region {
  int top, bottom, left, right;
};

template <std::size_t N>
void add_regions(const std::array<int, N>& cuts, int height, int width, std::vector<Region>& to) {
  const auto edge = [&](std::size_t i, int end) { return i == 0 ? 0 : i > N ? end : cuts[i - 1]; };
  for (std::size_t y = 0; y <= N; ++y) {
    for (std::size_t x = 0; x <= N; ++x) {
      to.push_back({edge(y, height), edge(y + 1, height), edge(x, width), edge(x + 1, width)});
    }
  }
}

Matrix patches_of(const PatchFeatures& features, const Region& region) {
  const int width = region.right - region.left;
  Matrix out((region.bottom - region.top) * width, features.patches.cols());
  for (int y = region.top; y < region.bottom; ++y) {
    as_eigen(out).middleRows((y - region.top) * width, width) =
        as_eigen(features.patches).middleRows(y * features.grid_width + region.left, width);
  }
  return out;
}

class CricaVpr final : public CrossImageHead {
 public:
  static constexpr int kParts = 1 + 4 + 9;

  CricaVpr(int features, const GemOptions& gem, CrossImage encoder, int dim)
      : CrossImageHead(std::move(encoder), dim), features_(features), gem_(gem) {}

 protected:
  EigenMatrix parts(const PatchFeatures& features) const override {
    checked_square_sums(features, features_);
    check_grid(features);
    const auto token = as_eigen(features.class_token);
    if (token.size() != features_ || !token.allFinite()) {
      throw std::invalid_argument(fmt::format(
          "class token has {} values, CricaVPR expects {} finite ones", token.size(), features_));
    }
    if (std::min(features.grid_height, features.grid_width) <= kThirds.back()) {
      throw std::invalid_argument(
          fmt::format("the picture gave {}x{} patches, CricaVPR needs more than {} each way",
                      features.grid_height,
                      features.grid_width,
                      kThirds.back()));
    }
    std::vector<Region> regions;
    add_regions(kHalves, features.grid_height, features.grid_width, regions);
    add_regions(kThirds, features.grid_height, features.grid_width, regions);
    EigenMatrix out(kParts, features_);
    out.row(0) = token.transpose();
    for_row_blocks(std::ssize(regions), 1, [&](Eigen::Index r, Eigen::Index) {
      out.row(1 + r) = as_eigen(gem_pool(patches_of(features, regions[r]), gem_)).transpose();
    });
    return out;
  }

 private:
  int features_;
  GemOptions gem_;
};

}  // namespace

std::unique_ptr<Aggregator> read_cricavpr(const TensorFile& file) {
  const HeadTensors head(
      file, "CricaVPR head", {kExponent, "encoder.layers.0.self_attn.in_proj_weight"});
  GemOptions gem;  // behind the norm over channels, clamped at 1e-6: the defaults
  gem.p = head.scalar(kExponent);
  if (!(gem.p > 0)) {
    head.refuse(kExponent, fmt::format("is {}, a number above 0 was expected", gem.p));
  }
  const int features = head.matrix("encoder.layers.0.self_attn.out_proj.weight").rows();
  return std::make_unique<CricaVpr>(
      features, gem, read_cross_image(head, features), head.dim(CricaVpr::kParts, features));
}

}  // namespace ria
