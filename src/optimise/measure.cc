// SPDX-License-Identifier: MIT
#include "optimise/measure.h"

#include <algorithm>
#include <cmath>

#include "nn/gemm.h"
#include "structure/candidates.h"
#include "util/random.h"

namespace ria {

namespace {

constexpr double kGoodRecall = 0.995;
constexpr int kFewestProbes = 4, kMostRefined = 2048, kFewestRefined = 32;

class Trial {
 public:
  Trial(const std::filesystem::path& body, const HeldOut& held_out)
      : held_out_(held_out), candidates_(Candidates::of(SearchFile::open_body(body, {}))) {}

  const SearchShape& shape() const { return candidates_->file.shape(); }
  bool graph() const { return shape().kind == SearchKind::kGraph; }
  /// Where there is no more to look into.
  int most_probes() const { return std::max(1, graph() ? shape().places : shape().lists); }
  /// A graph refines none that it does not keep in sight.
  int refined_of(int probes, int refined) const {
    return graph() ? std::min(refined, probes) : refined;
  }

  /// Share of the pictures in [first, end) whose nearest place is among those that are refined.
  double recall(int probes, int refined, std::size_t first, std::size_t end) {
    SearchMeasure measure;
    measure.probes = probes;
    measure.refined = refined_of(probes, refined);
    candidates_->file.set_measure(measure);
    int found = 0, all = 0;
    for (std::size_t q = first; q < end; ++q) {
      if (held_out_.nearest[q].place < 0) continue;
      ++all;
      found += finds(q);
    }
    return all == 0 ? 1 : static_cast<double>(found) / all;
  }

 private:
  bool finds(std::size_t q) const {
    const auto found =
        candidates_->find(held_out_.queries.row(static_cast<int>(q)), 1, [](int) { return true; });
    return std::ranges::binary_search(found, held_out_.nearest[q].place, {}, &CodedPlace::place);
  }

  const HeldOut& held_out_;
  std::unique_ptr<Candidates> candidates_;
};

/// The least that is good, to an eighth, if more is never worse.
template <typename Good>
int least(int from, int most, Good good) {
  int low = 0, high = std::min(from, most);
  while (high < most && !good(high)) {
    low = high;
    high = std::min(2 * high, most);
  }
  while (high - low > std::max(1, high / 8)) {
    const int middle = low + (high - low) / 2;
    (good(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Matrix seen_again(const Matrix& places, std::uint64_t seed) {
  const auto all = as_eigen(places);
  const Eigen::RowVectorXf mean = all.colwise().mean();
  const EigenMatrix apart = all.rowwise() - mean;
  SplitMix64 random(seed);
  EigenMatrix mix(places.rows(), places.rows());
  for (float& weight : mix.reshaped()) weight = static_cast<float>(random.uniform() - 0.5);
  const float change = std::sqrt((1 - kRemains * kRemains) * 12 / static_cast<float>(mix.cols()));
  Matrix seen(places.rows(), places.cols());
  as_eigen(seen) = kRemains * apart + change * product(mix, apart);
  as_eigen(seen).rowwise() += mean;
  as_eigen(seen).rowwise().normalize();
  return seen;
}

SearchMeasure measured(const std::filesystem::path& body, const HeldOut& held_out) {
  Trial trial(body, held_out);
  const std::size_t all = held_out.nearest.size(), half = all / 2;
  const int most = trial.most_probes();
  // What codes alone cannot tell, more lists do not find.
  const double goal = std::min(kGoodRecall, trial.recall(most, kMostRefined, 0, half));
  const auto good = [&](int probes, int refined) {
    return trial.recall(probes, refined, 0, half) >= goal;
  };
  SearchMeasure measure;
  measure.probes = least(trial.graph() ? kFewestRefined : kFewestProbes, most, [&](int probes) {
    return good(probes, kMostRefined);
  });
  measure.refined = trial.refined_of(
      measure.probes,
      least(kFewestRefined, kMostRefined, [&](int n) { return good(measure.probes, n); }));
  measure.held_out = static_cast<std::int32_t>(all - half);
  measure.recall = static_cast<float>(trial.recall(measure.probes, measure.refined, half, all));
  return measure;
}

}  // namespace ria
