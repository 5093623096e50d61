// SPDX-License-Identifier: MIT
#include "rerank/patch_comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ria {

namespace {

/// Blocks reach as far as this part of the picture's longer side, and are looked for as far away.
constexpr int kRadiusShare = 8;

/// Where the middle of a cell is, in cells of a grid that has `cells` along the longer side of the
/// picture.
struct Position {
  double down;
  double right;
};

Position position(const BitGrid& grid, int cell, int cells) {
  const double scale = static_cast<double>(cells) / grid.longest_side();
  return {(cell / grid.width + 0.5) * scale, (cell % grid.width + 0.5) * scale};
}

/// The same from the middle of the picture.
Position from_middle(const BitGrid& grid, int cell, int cells) {
  const double half = 0.5 * cells / grid.longest_side();
  const Position corner = position(grid, cell, cells);
  return {corner.down - half * grid.height, corner.right - half * grid.width};
}

/// The grid with `cells` along its longer side: itself, or the nearest of its cells in `memory`.
BitGrid resampled(const BitGrid& grid, int cells, PackedLocalFeatures& memory) {
  if (grid.longest_side() == cells) return grid;
  const double step = static_cast<double>(grid.longest_side()) / cells;
  memory.dim = 32 * grid.words;
  memory.grid_height = std::max(1, static_cast<int>(std::lround(grid.height / step)));
  memory.grid_width = std::max(1, static_cast<int>(std::lround(grid.width / step)));
  memory.bytes.clear();
  for (int y = 0; y < memory.grid_height; ++y) {
    const int row = std::min(static_cast<int>((y + 0.5) * step), grid.height - 1);
    for (int x = 0; x < memory.grid_width; ++x) {
      const int column = std::min(static_cast<int>((x + 0.5) * step), grid.width - 1);
      const std::uint8_t* bits = grid.row(row * grid.width + column);
      memory.bytes.insert(memory.bytes.end(), bits, bits + 4 * grid.words);
    }
  }
  return BitGrid(memory);
}

/// The cosine of two rows of signs.
float cosine(int distance, int words) {
  return 1 - static_cast<float>(distance) / static_cast<float>(16 * words);
}

/// What matches say of how the view moved: place = scale * query + displacement, by weighted least
/// squares, with a scale near 1 where few of them speak.
class MoveFit {
 public:
  void add(const Position& query, const Position& place, double weight) {
    weight_ += weight;
    down_.add(query.down, place.down, weight);
    right_.add(query.right, place.right, weight);
  }
  void tell(double cell, Agreement& agreement) const {
    constexpr double kPrior = 100;  // as a match of weight 1 that is 10 cells off the middle
    const double spread = down_.moment(down_.qq, down_.q, weight_) +
                          right_.moment(right_.qq, right_.q, weight_) + kPrior;
    const double together = down_.moment(down_.qp, down_.p, weight_) +
                            right_.moment(right_.qp, right_.p, weight_) + kPrior;
    agreement.scale = together / spread;
    agreement.down = (down_.p - agreement.scale * down_.q) / weight_ * cell;
    agreement.right = (right_.p - agreement.scale * right_.q) / weight_ * cell;
  }

 private:
  struct Axis {
    double q = 0, p = 0, qq = 0, qp = 0;  // weighted sums
    void add(double query, double place, double weight) {
      q += weight * query;
      p += weight * place;
      qq += weight * query * query;
      qp += weight * query * place;
    }
    double moment(double products, double other, double weight) const {
      return products - q * other / weight;
    }
  };
  double weight_ = 0;
  Axis down_, right_;
};

}  // namespace

PatchComparison::PatchComparison(PackedLocalFeatures query,
                                 double tolerance,
                                 const PanelKernels& kernels)
    : packed_(std::move(query)),
      query_(packed_),
      tolerance_(tolerance),
      matcher_(query_, kernels),
      blocks_(kernels) {}

PatchComparison::~PatchComparison() = default;

Agreement PatchComparison::compare(const PackedLocalFeatures& kept) {
  const BitGrid place(kept);
  agreeing_.clear();
  likeness_.cells.assign(query_.cells(), 0.0f);
  likeness_.share = 0;
  matches_ = matcher_.match(place);
  const int smaller = std::min(query_.cells(), place.cells());
  if (smaller == 0) return {};
  const int cells = std::min(query_.longest_side(), place.longest_side());
  const double reach = std::max(1.0, tolerance_ * cells);
  cast_votes(place, cells);
  const Peak peak = election_.winner(votes_, reach);
  if (!(peak.sum > 0)) return {};

  Agreement agreement = agree(place, cells, peak, reach);
  const double share = likeness_.share = peak.sum / static_cast<double>(smaller);
  const BitGrid compared = resampled(query_, cells, coarser_query_);
  const double alike = blocks_.alike(compared,
                                     resampled(place, cells, coarser_place_),
                                     peak.down,
                                     peak.right,
                                     std::max(1, (cells + kRadiusShare / 2) / kRadiusShare));
  keep_likeness(compared);
  agreement.score = std::cbrt(share * alike * alike);
  return agreement;
}

void PatchComparison::keep_likeness(const BitGrid& compared) {
  const std::span<const float> found = blocks_.of_first();
  for (int y = 0, cell = 0; y < query_.height; ++y) {
    const int row = y * compared.height / query_.height * compared.width;
    for (int x = 0; x < query_.width; ++x, ++cell) {
      likeness_.cells[cell] = found[row + x * compared.width / query_.width];
    }
  }
}

void PatchComparison::cast_votes(const BitGrid& place, int cells) {
  votes_.clear();
  for (const BitMatch& match : matches_) {
    const Position from = position(query_, match.query, cells);
    const Position to = position(place, match.place, cells);
    votes_.push_back({static_cast<int>(std::lround(to.down - from.down)),
                      static_cast<int>(std::lround(to.right - from.right)),
                      std::max(0.0f, cosine(match.distance, query_.words))});
  }
}

Agreement PatchComparison::agree(const BitGrid& place, int cells, const Peak& peak, double reach) {
  MoveFit fit;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    const Vote& vote = votes_[i];
    const float weight =
        vote.weight * fall(vote.down - peak.down, reach) * fall(vote.right - peak.right, reach);
    if (!(weight > 0)) continue;
    agreeing_.push_back({matches_[i].query, matches_[i].place, weight});
    fit.add(from_middle(query_, matches_[i].query, cells),
            from_middle(place, matches_[i].place, cells),
            weight);
  }
  Agreement agreement;
  agreement.pairs = static_cast<int>(agreeing_.size());
  fit.tell(static_cast<double>(query_.longest_side()) / cells, agreement);
  return agreement;
}

}  // namespace ria
