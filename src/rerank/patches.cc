// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "aggregate/features.h"
#include "nn/gemm.h"
#include "rerank/distinction.h"
#include "rerank/patch_comparison.h"
#include "ria/aggregator.h"
#include "ria/eigen.h"
#include "ria/rerank.h"

namespace ria {

namespace {

/// Shorter than this, what is left of a unit vector without the mean is rounding error.
constexpr float kFlat = 1e-5f;

/// Directions at random: orthogonal ones, as many as there are, then others.
Matrix random_directions(int feature_dim, int count, std::uint32_t seed) {
  Matrix directions(feature_dim, count);
  for (int first = 0; first < count; first += feature_dim, ++seed) {
    const int some = std::min(feature_dim, count - first);
    as_eigen(directions).middleCols(first, some) =
        as_eigen(random_orthogonal(feature_dim, some, seed));
  }
  return directions;
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

/// By their signs, whatever their lengths.
PackedLocalFeatures pack_checked(const LocalFeatures& features) {
  require_grid(features);
  return pack({features.vectors, features.grid_height, features.grid_width, true});
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
        projection_(random_directions(feature_dim, options.rerank_d, options.rerank_seed)) {}

  LocalFeatures extract(const PatchFeatures& features) const override;
  Agreement compare(const LocalFeatures& query, const LocalFeatures& place) const override {
    return comparison(query).compare(pack_checked(place));
  }
  std::vector<CellPair> agreeing_pairs(const LocalFeatures& query,
                                       const LocalFeatures& place) const override {
    PatchComparison compared = comparison(query);
    compared.compare(pack_checked(place));
    return {compared.agreeing().begin(), compared.agreeing().end()};
  }
  std::unique_ptr<PreparedQuery> prepare(const PackedLocalFeatures& query) const override {
    return std::make_unique<PatchComparison>(query, options_.rerank_tolerance);
  }
  std::vector<Match> reorder(const std::vector<Match>& matches,
                             const std::vector<double>& scores,
                             const std::vector<Likeness>& likenesses) const override;

 private:
  PatchComparison comparison(const LocalFeatures& query) const {
    return {pack_checked(query), options_.rerank_tolerance};
  }

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
  const float magnitude = 1 / std::sqrt(static_cast<float>(options_.rerank_d));
  for (std::int64_t i = 0; i < cells; ++i) {
    const bool flat = !(vectors.row(i).norm() > kFlat);
    for (float& value : vectors.row(i)) value = flat ? 0 : value > 0 ? magnitude : -magnitude;
  }
  return {to_matrix(vectors), features.grid_height, features.grid_width, true};
}

/// Scores in which likeness counts by how far it sets a place apart from the others; the largest is
/// what that place's own was. Those there are where nothing does.
std::vector<double> set_apart(const std::vector<double>& scores,
                              const std::vector<Likeness>& likenesses) {
  std::vector<const Likeness*> all;
  for (const Likeness& one : likenesses) all.push_back(&one);
  const std::vector<float> usual = usual_likeness(all);
  if (usual.empty() || all.size() != scores.size()) return scores;
  std::vector<double> apart;
  for (const Likeness& one : likenesses) apart.push_back(distinction(one, usual));
  const double unit = distinction_unit(apart, scores);
  if (unit == 0) return scores;
  for (double& one : apart) one *= unit;
  return apart;
}

/// The cosine is brought to the spread of the scores: what a match carries stays a share of
/// patches, moved a little by how its cosine stands among the others.
std::vector<Match> PatchReranker::reorder(const std::vector<Match>& matches,
                                          const std::vector<double>& scores,
                                          const std::vector<Likeness>& likenesses) const {
  if (scores.size() != matches.size() || matches.empty()) {
    return Reranker::reorder(matches, scores, {});
  }
  std::vector<double> fused = set_apart(scores, likenesses);
  std::vector<double> cosines;
  for (const Match& match : matches) cosines.push_back(match.score);
  const auto [mean, deviation] = spread(cosines);
  const double unit = deviation > 0 ? spread(fused).second / deviation : 0;
  for (std::size_t i = 0; i < fused.size(); ++i) {
    fused[i] += options_.rerank_cosine_weight * unit * (cosines[i] - mean);
  }
  return Reranker::reorder(matches, fused, {});
}

}  // namespace

void PatchRerankOptions::validate() const {
  const auto require = [](bool holds, const char* field, auto value, const char* expected) {
    if (!holds)
      throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  require(rerank_d >= 32 && rerank_d <= 8192 && rerank_d % 32 == 0,
          "rerank_d",
          rerank_d,
          "a multiple of 32 from 32 to 8192");
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
