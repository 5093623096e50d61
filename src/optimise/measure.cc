// SPDX-License-Identifier: MIT
#include "optimise/measure.h"

#include <algorithm>

#include "index/approximate.h"

namespace ria {

namespace {

constexpr double kGoodRecall = 0.99;
constexpr int kMostRefined = 512, kFewestRefined = 32;

class Trial {
 public:
  Trial(const std::filesystem::path& body, const MapStore& store, const HeldOut& held_out)
      : store_(store), held_out_(held_out), search_(SearchFile::open_body(body, {})) {
    search_.assume_sound();
  }

  SearchFile& file() { return search_.candidates->file; }
  void set(const SearchMeasure& measure) { file().set_measure(measure); }
  /// Share of the held-out places in [first, end) whose nearest other place is found.
  double recall(std::size_t first, std::size_t end) const {
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
    const auto row = held_out_.rows.row(static_cast<int>(q));
    const Matrix query(1, held_out_.rows.cols(), {row.begin(), row.end()});
    std::vector<std::vector<Match>> answers;
    store_.database().reading([&] {
      const auto found = search_.find(query, 1, {}, held_out_.places[q]);
      answers = search_.refine(store_, query, found, 1, true);
    });
    return !answers[0].empty() && answers[0][0].score >= held_out_.nearest[q].score;
  }

  const MapStore& store_;
  const HeldOut& held_out_;
  Approximate search_;
};

/// Where there is no more to look into.
int most_probes(const SearchShape& shape) {
  return std::max(1, shape.kind == SearchKind::kGraph ? shape.places : shape.lists);
}

}  // namespace

SearchMeasure measured(const std::filesystem::path& body,
                       const MapStore& store,
                       const HeldOut& held_out) {
  Trial trial(body, store, held_out);
  const std::size_t all = held_out.places.size(), half = all / 2;
  const SearchShape& shape = trial.file().shape();
  const bool graph = shape.kind == SearchKind::kGraph;
  const int most = most_probes(shape);
  SearchMeasure measure;
  const auto good_with = [&](int probes, int refined) {
    measure.probes = std::min(probes, most);
    // A graph refines none that it does not keep in sight.
    measure.refined = graph ? std::min(refined, measure.probes) : refined;
    trial.set(measure);
    return trial.recall(0, half) >= kGoodRecall;
  };
  int probes = graph ? kFewestRefined : 4, refined = kMostRefined;
  while (!good_with(probes, refined) && probes < most) probes *= 2;
  refined = std::min(refined, std::max(measure.refined, kFewestRefined));
  while (refined > kFewestRefined && good_with(probes, refined / 2)) refined /= 2;
  good_with(probes, refined);
  measure.held_out = static_cast<std::int32_t>(all - half);
  measure.recall = static_cast<float>(trial.recall(half, all));
  return measure;
}

}  // namespace ria
