// SPDX-License-Identifier: MIT
#include "places/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/error_message.h"

namespace ria {
namespace {

using testing::HasSubstr;

/// Groups of places in a row, place i with 2 + i % 5 pictures, in conflict with `reach` neighbours
/// to either side.
TrainingSet street(const std::vector<int>& sizes, int reach) {
  TrainingSet set;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    const int first = static_cast<int>(set.places.size());
    set.groups.push_back("g" + std::to_string(g));
    for (int i = 0; i < sizes[g]; ++i) {
      TrainingSet::Place& place = set.places.emplace_back();
      place.group = static_cast<int>(g);
      for (int k = 0; k < 2 + i % 5; ++k) {
        place.pictures.push_back(static_cast<int>(set.pictures.size()));
        set.pictures.emplace_back(std::to_string(set.pictures.size()));
      }
      for (int j = std::max(0, i - reach); j <= std::min(sizes[g] - 1, i + reach); ++j) {
        if (j != i) place.conflicts.push_back(first + j);
      }
    }
  }
  return set;
}

std::vector<int> places_of(const PictureBatch& batch, int k) {
  std::vector<int> places;
  for (std::size_t i = 0; i < batch.labels.size(); i += static_cast<std::size_t>(k)) {
    places.push_back(static_cast<int>(batch.labels[i]));
  }
  return places;
}

void expect_lawful(const TrainingSet& set, const BatchOptions& options, const PictureBatch& batch) {
  const int k = options.pictures_per_place;
  ASSERT_EQ(batch.pictures.size(), batch.labels.size());
  ASSERT_EQ(std::ssize(batch.pictures) % k, 0);
  const std::vector<int> places = places_of(batch, k);
  EXPECT_GE(places.size(), 2u);
  EXPECT_LE(std::ssize(places), options.places_per_batch);
  EXPECT_EQ(std::set<int>(places.begin(), places.end()).size(), places.size());
  for (std::size_t p = 0; p < places.size(); ++p) {
    const TrainingSet::Place& place = set.places[static_cast<std::size_t>(places[p])];
    EXPECT_EQ(place.group, batch.group);
    for (const int other : places) {
      EXPECT_FALSE(std::binary_search(place.conflicts.begin(), place.conflicts.end(), other));
    }
    std::map<int, int> times;
    for (const int picture : place.pictures) times[picture] = 0;
    for (int i = 0; i < k; ++i) {
      const std::size_t at = p * static_cast<std::size_t>(k) + static_cast<std::size_t>(i);
      EXPECT_EQ(batch.labels[at], places[p]);
      ASSERT_EQ(times.count(batch.pictures[at]), 1u) << "a picture of another place";
      ++times[batch.pictures[at]];
    }
    const int size = static_cast<int>(place.pictures.size());
    for (const auto& [picture, count] : times) {
      EXPECT_GE(count, k / size);
      EXPECT_LE(count, (k + size - 1) / size);
    }
  }
}

TEST(Batches, EveryPlaceComesAndNoneBesideOneItConflictsWith) {
  for (const int reach : {0, 1, 3}) {
    const TrainingSet set = street({50, 23, 9}, reach);
    for (const int p : {2, 5, 16}) {
      const BatchOptions options{p, 4, 42};
      std::set<int> met;
      for (const PictureBatch& batch : epoch_batches(set, options, 1)) {
        expect_lawful(set, options, batch);
        for (const int place : places_of(batch, 4)) met.insert(place);
      }
      EXPECT_EQ(met.size(), set.places.size()) << reach << " " << p;
    }
  }
}

TEST(Batches, WithoutConflictsAreFullAndNoMoreThanNeeded) {
  const TrainingSet set = street({50, 23, 7}, 0);
  std::map<int, int> count;
  for (const PictureBatch& batch : epoch_batches(set, {10, 4, 1}, 0)) {
    ++count[batch.group];
    EXPECT_EQ(batch.places(4), batch.group == 2 ? 7 : 10);  // the last has no more
  }
  EXPECT_EQ(count, (std::map<int, int>{{0, 5}, {1, 3}, {2, 1}}));
}

TEST(Batches, GroupsAreMixedInTheOrderOfBatches) {
  const TrainingSet set = street({40, 40}, 0);
  int changes = 0;
  const auto batches = epoch_batches(set, {4, 2, 1}, 0);
  for (std::size_t i = 1; i < batches.size(); ++i) {
    changes += batches[i].group != batches[i - 1].group;
  }
  EXPECT_GT(changes, 2);
}

TEST(Batches, AllThatConflictLeaveNoBatch) {
  EXPECT_TRUE(epoch_batches(street({5}, 5), {4, 2, 1}, 0).empty());
  EXPECT_TRUE(epoch_batches(street({1}, 0), {4, 2, 1}, 0).empty());
}

std::vector<std::vector<int>> pictures(const std::vector<PictureBatch>& batches) {
  std::vector<std::vector<int>> all;
  for (const PictureBatch& batch : batches) all.push_back(batch.pictures);
  return all;
}

TEST(Batches, FollowFromSeedAndEpochAlone) {
  const TrainingSet set = street({50, 23, 7}, 2);
  const auto first = pictures(epoch_batches(set, {8, 4, 42}, 3));
  EXPECT_EQ(first, pictures(epoch_batches(set, {8, 4, 42}, 3)));
  EXPECT_NE(first, pictures(epoch_batches(set, {8, 4, 42}, 4)));
  EXPECT_NE(first, pictures(epoch_batches(set, {8, 4, 43}, 3)));
}

TEST(Batches, OverEpochsAPlaceShowsAllItsPictures) {
  const TrainingSet set = street({20}, 1);
  std::set<int> seen;
  for (int epoch = 0; epoch < 40; ++epoch) {
    for (const PictureBatch& batch : epoch_batches(set, {6, 2, 9}, epoch)) {
      seen.insert(batch.pictures.begin(), batch.pictures.end());
    }
  }
  EXPECT_EQ(seen.size(), set.pictures.size());
}

TEST(Batches, SharesOfWorkersAreTheWhole) {
  const TrainingSet set = street({11}, 0);
  const PictureBatch batch = epoch_batches(set, {11, 3, 1}, 0).at(0);
  for (const int count : {1, 2, 3, 4, 20}) {
    PictureBatch all;
    for (int rank = 0; rank < count; ++rank) {
      const PictureBatch share = share_of(batch, 3, rank, count);
      EXPECT_EQ(share.pictures.size() % 3, 0u);
      EXPECT_LE(share.places(3), (11 + count - 1) / count);
      all.pictures.insert(all.pictures.end(), share.pictures.begin(), share.pictures.end());
      all.labels.insert(all.labels.end(), share.labels.begin(), share.labels.end());
    }
    EXPECT_EQ(all.pictures, batch.pictures);
    EXPECT_EQ(all.labels, batch.labels);
  }
}

TEST(Batches, RefuseWhatGivesNoPairs) {
  const TrainingSet set = street({5}, 0);
  EXPECT_THAT(message_of([&] {
                epoch_batches(set, {1, 4, 1}, 0);
              }),
              HasSubstr("places_per_batch is 1"));
  EXPECT_THAT(message_of([&] {
                epoch_batches(set, {4, 1, 1}, 0);
              }),
              HasSubstr("pictures_per_place is 1"));
  EXPECT_THAT(message_of([&] { share_of({}, 4, 2, 2); }), HasSubstr("rank is 2"));
}

}  // namespace
}  // namespace ria
