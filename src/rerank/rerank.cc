// SPDX-License-Identifier: MIT
#include "ria/rerank.h"

#include <algorithm>
#include <stdexcept>

#include "tensor/tensor.h"

namespace ria {

PackedLocalFeatures pack(const LocalFeatures& local) {
  PackedLocalFeatures packed;
  packed.dim = local.vectors.cols();
  packed.grid_height = local.grid_height;
  packed.grid_width = local.grid_width;
  packed.halves = to_halves(local.vectors.values());
  return packed;
}

LocalFeatures unpack(const PackedLocalFeatures& packed) {
  const std::int64_t rows = static_cast<std::int64_t>(packed.grid_height) * packed.grid_width;
  if (packed.grid_height < 0 || packed.grid_width < 0 || packed.dim < 0 ||
      rows * packed.dim != std::ssize(packed.halves)) {
    throw std::invalid_argument("local features do not have the size of their grid");
  }
  LocalFeatures local{
      Matrix(static_cast<int>(rows), packed.dim), packed.grid_height, packed.grid_width};
  from_halves(packed.halves, local.vectors.values());
  return local;
}

namespace {

/// Unpacks every place.
class UnpackingQuery final : public PreparedQuery {
 public:
  UnpackingQuery(const Reranker& reranker, const PackedLocalFeatures& query)
      : reranker_(reranker), query_(unpack(query)) {}

  Agreement compare(const PackedLocalFeatures& place) override {
    return reranker_.compare(query_, unpack(place));
  }

 private:
  const Reranker& reranker_;
  LocalFeatures query_;
};

}  // namespace

PreparedQuery::~PreparedQuery() = default;

Reranker::~Reranker() = default;

std::unique_ptr<PreparedQuery> Reranker::prepare(const PackedLocalFeatures& query) const {
  return std::make_unique<UnpackingQuery>(*this, query);
}

std::vector<Match> Reranker::reorder(const std::vector<Match>& matches,
                                     const std::vector<double>& scores) const {
  if (scores.size() != matches.size()) {
    throw std::invalid_argument("a score for each match was expected");
  }
  std::vector<Match> ordered;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    ordered.push_back({matches[i].place, static_cast<float>(scores[i])});
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Match& a, const Match& b) {
    return a.score > b.score;
  });
  return ordered;
}

}  // namespace ria
