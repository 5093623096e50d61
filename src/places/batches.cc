// SPDX-License-Identifier: MIT
#include "places/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "util/random.h"

namespace ria {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Places in a random order, taken from the front; those that do not fit in now keep their turn.
class Queue {
 public:
  Queue(std::vector<int> places, SplitMix64& random) : places_(std::move(places)) {
    shuffle(places_, random);
  }

  bool empty() const { return front_ == places_.size(); }

  /// Moves those that `take` accepts out, from the front, until it is `full`.
  template <typename Take, typename Full>
  void move_out(const Take& take, const Full& full) {
    std::vector<int> passed;
    std::size_t i = front_;
    for (; i < places_.size() && !full(); ++i) {
      if (!take(places_[i])) passed.push_back(places_[i]);
    }
    front_ = i - passed.size();
    std::copy(passed.begin(), passed.end(), places_.begin() + static_cast<std::ptrdiff_t>(front_));
  }

 private:
  std::vector<int> places_;
  std::size_t front_ = 0;
};

/// The batches of one group.
class GroupBatches {
 public:
  GroupBatches(const TrainingSet& set,
               const BatchOptions& options,
               std::vector<int> places,
               std::uint64_t seed)
      : set_(set), options_(options), all_(std::move(places)), random_(seed), more_({}, random_) {}

  void append_to(std::vector<PictureBatch>& batches) {
    Queue left(all_, random_);
    while (!left.empty()) {
      std::vector<int> places = next(left);
      if (places.size() >= 2) batches.push_back(drawn(places));
    }
  }

 private:
  /// Takes places that do not conflict; of those left over first, then of all.
  std::vector<int> next(Queue& left) {
    std::vector<int> places;
    std::unordered_set<int> refused;
    const auto full = [&] { return std::ssize(places) == options_.places_per_batch; };
    const auto take = [&](int place) {
      if (refused.count(place) != 0) return false;
      places.push_back(place);
      refused.insert(place);
      const std::vector<int>& conflicts = set_.places[at(place)].conflicts;
      refused.insert(conflicts.begin(), conflicts.end());
      return true;
    };
    left.move_out(take, full);
    if (full()) return places;
    more_.move_out(take, full);
    if (full()) return places;
    more_ = Queue(all_, random_);
    more_.move_out(take, full);
    return places;
  }

  PictureBatch drawn(const std::vector<int>& places) {
    PictureBatch batch;
    batch.group = set_.places[at(places[0])].group;
    for (const int place : places) {
      std::vector<int> pictures = set_.places[at(place)].pictures;
      shuffle(pictures, random_);
      for (std::size_t k = 0; k < at(options_.pictures_per_place); ++k) {
        batch.pictures.push_back(pictures[k % pictures.size()]);
        batch.labels.push_back(place);
      }
    }
    return batch;
  }

  const TrainingSet& set_;
  const BatchOptions& options_;
  std::vector<int> all_;
  SplitMix64 random_;
  Queue more_;  ///< what incomplete batches are filled with
};

}  // namespace

void BatchOptions::validate() const {
  const auto at_least_two = [](const char* field, int value) {
    if (value >= 2) return;
    throw std::invalid_argument(fmt::format("{} is {}, at least 2 was expected", field, value));
  };
  at_least_two("places_per_batch", places_per_batch);
  at_least_two("pictures_per_place", pictures_per_place);
}

std::vector<PictureBatch> epoch_batches(const TrainingSet& set,
                                        const BatchOptions& options,
                                        int epoch) {
  options.validate();
  std::vector<std::vector<int>> by_group(set.groups.size());
  for (std::size_t i = 0; i < set.places.size(); ++i) {
    by_group.at(at(set.places[i].group)).push_back(static_cast<int>(i));
  }
  const auto seed_of = [&](std::size_t stream) {
    return mixed_seed({options.seed, static_cast<std::uint64_t>(epoch), stream});
  };
  std::vector<PictureBatch> batches;
  for (std::size_t g = 0; g < by_group.size(); ++g) {
    GroupBatches(set, options, std::move(by_group[g]), seed_of(g + 1)).append_to(batches);
  }
  SplitMix64 order(seed_of(0));
  shuffle(batches, order);
  return batches;
}

PictureBatch share_of(const PictureBatch& batch, int pictures_per_place, int rank, int count) {
  if (count < 1 || rank < 0 || rank >= count) {
    throw std::invalid_argument(
        fmt::format("rank is {}, 0 to {} was expected", rank, std::max(count, 1) - 1));
  }
  const std::int64_t places = batch.places(pictures_per_place);
  const std::int64_t begin = places * rank / count * pictures_per_place;
  const std::int64_t end = places * (rank + 1) / count * pictures_per_place;
  PictureBatch share;
  share.group = batch.group;
  share.pictures.assign(batch.pictures.begin() + begin, batch.pictures.begin() + end);
  share.labels.assign(batch.labels.begin() + begin, batch.labels.begin() + end);
  return share;
}

}  // namespace ria
