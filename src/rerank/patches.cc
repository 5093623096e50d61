// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "aggregate/features.h"
#include "nn/gemm.h"
#include "rerank/mutual.h"
#include "ria/aggregator.h"
#include "ria/eigen.h"
#include "ria/rerank.h"

namespace ria {

namespace {

/// Shorter than this, what is left of a unit vector without the mean is rounding error.
constexpr float kFlat = 1e-5f;

/// A match, which votes: by how many cells the picture moved, and how much it counts.
struct Vote {
  int query;
  int place;
  int down;
  int right;
  float weight;
};

/// A displacement in cells and the sum of the votes around it.
struct Peak {
  int down = 0;
  int right = 0;
  float sum = 0;
};

/// The largest sum of votes around one displacement, each weighed by how near it is to it: 1 there,
/// falling linearly along both axes to 0 at `reach` cells.
Peak largest_agreement(const std::vector<Vote>& votes, double reach) {
  if (votes.empty()) return {};
  const auto [top, bottom] = std::minmax_element(
      votes.begin(), votes.end(), [](const Vote& a, const Vote& b) { return a.down < b.down; });
  const auto [left, right] = std::minmax_element(
      votes.begin(), votes.end(), [](const Vote& a, const Vote& b) { return a.right < b.right; });
  const int radius = static_cast<int>(std::ceil(reach)) - 1;
  std::vector<float> fall(radius + 1);
  for (int i = 0; i <= radius; ++i) fall[i] = static_cast<float>(1 - i / reach);

  // Along the rows where the votes are; then down the columns, whole rows at a time.
  EigenMatrix sums = EigenMatrix::Zero(bottom->down - top->down + 1 + 2 * radius,
                                       right->right - left->right + 1 + 2 * radius);
  for (const Vote& vote : votes) {
    float* at = &sums(vote.down - top->down + radius, vote.right - left->right + radius);
    for (int i = -radius; i <= radius; ++i) at[i] += vote.weight * fall[std::abs(i)];
  }
  Peak largest;
  Eigen::RowVectorXf agreement(sums.cols());
  for (Eigen::Index row = radius; row + radius < sums.rows(); ++row) {
    agreement = sums.row(row);
    for (int i = 1; i <= radius; ++i) {
      agreement += fall[i] * (sums.row(row - i) + sums.row(row + i));
    }
    Eigen::Index column = 0;
    const float sum = agreement.maxCoeff(&column);
    if (sum > largest.sum) {
      largest = {static_cast<int>(row) - radius + top->down,
                 static_cast<int>(column) - radius + left->right,
                 sum};
    }
  }
  return largest;
}

/// Cells along the longer side of the picture.
int longest_side(const LocalFeatures& features) {
  return std::max(features.grid_height, features.grid_width);
}

/// The middle of a patch as (down, right), in cells of a grid that has `cells` along the longer
/// side of the picture.
std::pair<double, double> position(const LocalFeatures& features, int patch, int cells) {
  const double scale = static_cast<double>(cells) / longest_side(features);
  return {(patch / features.grid_width + 0.5) * scale, (patch % features.grid_width + 0.5) * scale};
}

void require_grid(const LocalFeatures& features) {
  const auto expected = std::int64_t{features.grid_height} * features.grid_width;
  if (features.grid_height < 0 || features.grid_width < 0 || features.vectors.rows() != expected) {
    throw std::invalid_argument(fmt::format("{} local features do not fill a grid of {} x {}",
                                            features.vectors.rows(),
                                            features.grid_height,
                                            features.grid_width));
  }
}

/// Mean and standard deviation.
std::pair<double, double> spread(const std::vector<double>& values) {
  const auto x = as_eigen(values);
  const double mean = x.mean();
  return {mean, std::sqrt((x.array() - mean).square().mean())};
}

class PatchReranker final : public Reranker {
 public:
  PatchReranker(int feature_dim, const PatchRerankOptions& options)
      : feature_dim_(feature_dim),
        options_(options),
        projection_(random_orthogonal(feature_dim, options.rerank_d, options.rerank_seed)) {}

  LocalFeatures extract(const PatchFeatures& features) const override;
  Agreement compare(const LocalFeatures& query, const LocalFeatures& place) const override;
  std::vector<CellPair> agreeing_pairs(const LocalFeatures& query,
                                       const LocalFeatures& place) const override;
  std::vector<Match> reorder(const std::vector<Match>& matches,
                             const std::vector<double>& scores) const override;

 private:
  /// Matches that agree, and on what.
  struct Matched {
    int cells = 0;  ///< along the longer side of the coarser grid; 0: a grid is empty
    double reach = 0;
    std::vector<Vote> votes;
    Peak peak;
  };
  Matched match(const LocalFeatures& query, const LocalFeatures& place) const;

  int feature_dim_;
  PatchRerankOptions options_;
  Matrix projection_;
};

LocalFeatures PatchReranker::extract(const PatchFeatures& features) const {
  const EigenVector square_sums = checked_square_sums(features, feature_dim_);
  const std::int64_t cells = std::int64_t{features.grid_height} * features.grid_width;
  if (cells < 1 || features.patches.rows() < cells) {
    throw std::invalid_argument(fmt::format("{} patches do not fill a grid of {} x {}",
                                            features.patches.rows(),
                                            features.grid_height,
                                            features.grid_width));
  }
  // The mean is taken out behind the projection, which is linear: fewer values, the same result.
  // Patches behind the grid's are those of other scales.
  EigenMatrix vectors = inverse_norms(square_sums.head(cells)).asDiagonal() *
                        product(as_eigen(features.patches).topRows(cells), as_eigen(projection_));
  const Eigen::RowVectorXf mean = vectors.colwise().mean();
  vectors.rowwise() -= mean;
  for (std::int64_t i = 0; i < cells; ++i) {
    const float norm = vectors.row(i).norm();
    vectors.row(i) *= norm > kFlat ? 1 / norm : 0.0f;
  }
  return {to_matrix(vectors), features.grid_height, features.grid_width};
}

/// Matched patches of positive cosine, with displacements in cells of the coarser grid.
std::vector<Vote> cast_votes(const LocalFeatures& query, const LocalFeatures& place, int cells) {
  std::vector<Vote> votes;
  for (const auto& [from, to] : mutual_neighbours(query.vectors, place.vectors)) {
    const float cosine = as_eigen(query.vectors.row(from)).dot(as_eigen(place.vectors.row(to)));
    if (!(cosine > 0)) continue;
    const auto [query_down, query_right] = position(query, from, cells);
    const auto [place_down, place_right] = position(place, to, cells);
    votes.push_back({from,
                     to,
                     static_cast<int>(std::lround(place_down - query_down)),
                     static_cast<int>(std::lround(place_right - query_right)),
                     cosine});
  }
  return votes;
}

PatchReranker::Matched PatchReranker::match(const LocalFeatures& query,
                                            const LocalFeatures& place) const {
  require_grid(query);
  require_grid(place);
  Matched matched;
  if (query.vectors.rows() == 0 || place.vectors.rows() == 0) return matched;
  matched.cells = std::min(longest_side(query), longest_side(place));
  matched.reach = std::max(1.0, options_.rerank_tolerance * matched.cells);
  matched.votes = cast_votes(query, place, matched.cells);
  matched.peak = largest_agreement(matched.votes, matched.reach);
  std::erase_if(matched.votes, [&](const Vote& vote) {
    return std::abs(vote.down - matched.peak.down) >= matched.reach ||
           std::abs(vote.right - matched.peak.right) >= matched.reach;
  });
  return matched;
}

Agreement PatchReranker::compare(const LocalFeatures& query, const LocalFeatures& place) const {
  const Matched matched = match(query, place);
  if (matched.cells == 0) return {};
  const double finer = static_cast<double>(longest_side(query)) / matched.cells;
  return {
      matched.peak.sum / static_cast<double>(std::min(query.vectors.rows(), place.vectors.rows())),
      matched.peak.down * finer,
      matched.peak.right * finer,
      1.0,
      static_cast<int>(matched.votes.size())};
}

std::vector<CellPair> PatchReranker::agreeing_pairs(const LocalFeatures& query,
                                                    const LocalFeatures& place) const {
  const Matched matched = match(query, place);
  std::vector<CellPair> pairs;
  for (const Vote& vote : matched.votes) {
    const double down = 1 - std::abs(vote.down - matched.peak.down) / matched.reach;
    const double right = 1 - std::abs(vote.right - matched.peak.right) / matched.reach;
    pairs.push_back({vote.query, vote.place, static_cast<float>(vote.weight * down * right)});
  }
  return pairs;
}

/// The cosine is brought to the spread of the scores: what a match carries stays a share of
/// patches, moved a little by how its cosine stands among the others.
std::vector<Match> PatchReranker::reorder(const std::vector<Match>& matches,
                                          const std::vector<double>& scores) const {
  if (scores.size() != matches.size() || matches.empty()) {
    return Reranker::reorder(matches, scores);
  }
  std::vector<double> cosines;
  for (const Match& match : matches) cosines.push_back(match.score);
  const auto [mean, deviation] = spread(cosines);
  const double unit = deviation > 0 ? spread(scores).second / deviation : 0;
  std::vector<double> fused = scores;
  for (std::size_t i = 0; i < fused.size(); ++i) {
    fused[i] += options_.rerank_cosine_weight * unit * (cosines[i] - mean);
  }
  return Reranker::reorder(matches, fused);
}

}  // namespace

void PatchRerankOptions::validate() const {
  const auto require = [](bool holds, const char* field, auto value, const char* expected) {
    if (!holds)
      throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  require(rerank_d >= 1, "rerank_d", rerank_d, "at least 1");
  require(rerank_tolerance > 0 && rerank_tolerance <= 1,
          "rerank_tolerance",
          rerank_tolerance,
          "a number in (0, 1]");
  require(rerank_cosine_weight >= 0 && std::isfinite(rerank_cosine_weight),
          "rerank_cosine_weight",
          rerank_cosine_weight,
          "a number from 0 up");
}

std::unique_ptr<Reranker> make_patch_reranker(int feature_dim, const PatchRerankOptions& options) {
  options.validate();
  return std::make_unique<PatchReranker>(feature_dim, options);
}

}  // namespace ria
