// SPDX-License-Identifier: MIT
// What candidates have in common says nothing of any of them.
#include "loop/apart.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "loop/place_filter.h"

namespace ria {
namespace {

constexpr int kCells = 24;

/// Alike all over by `shared`, and by `own` more in the cell of its number.
Candidate candidate(int place, double agreement, float shared, float own, int cell) {
  Candidate made;
  made.place = place;
  made.cosine = 0.4;
  made.agreement.score = agreement;
  made.likeness.cells.assign(kCells, shared);
  made.likeness.cells[cell] += own;
  made.likeness.share = 0.1;
  return made;
}

/// Ten places apart from each other that show the same, the first of them more than that.
Sighting facades() {
  Sighting sighting;
  for (int i = 0; i < 10; ++i) {
    const bool first = i == 0;
    sighting.candidates.push_back(
        candidate(100 * i, first ? 0.1 : 0.08, 0.5f, first ? 0.4f : 0.1f, i));
  }
  sighting.cosine_mean = 0.2;
  sighting.cosine_deviation = 0.05;
  return sighting;
}

std::vector<int> each_its_own(const Sighting& sighting) {
  std::vector<int> runs(sighting.candidates.size());
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i] = static_cast<int>(i);
  return runs;
}

TEST(SetApart, WhatIsSharedCountsForNone) {
  const Sighting sighting = facades();
  const Apart apart = set_apart(sighting, each_its_own(sighting));
  EXPECT_NEAR(apart.candidates[0], 0.1, 1e-9);  // the furthest keeps its agreement
  for (std::size_t i = 1; i < apart.candidates.size(); ++i) {
    EXPECT_LT(apart.candidates[i], sighting.candidates[i].agreement.score) << i;
  }

  Sighting more = sighting;
  for (Candidate& one : more.candidates) {
    for (float& cell : one.likeness.cells) cell -= 0.25f;
  }
  const Apart same = set_apart(more, each_its_own(more));
  for (std::size_t i = 0; i < apart.candidates.size(); ++i) {
    EXPECT_NEAR(same.candidates[i], apart.candidates[i], 1e-6) << i;
  }
}

TEST(SetApart, ALongRunIsNotComparedWithItself) {
  Sighting sighting = facades();
  std::vector<int> runs = each_its_own(sighting);
  const Apart before = set_apart(sighting, runs);
  for (int i = 1; i <= 8; ++i) {
    sighting.candidates.push_back(sighting.candidates[0]);
    sighting.candidates.back().place = i;
    runs.push_back(0);
  }
  const Apart after = set_apart(sighting, runs);
  for (std::size_t i = 0; i < after.candidates.size(); ++i) {
    const std::size_t original = i < before.candidates.size() ? i : 0;
    EXPECT_NEAR(after.candidates[i], before.candidates[original], 1e-6) << i;
  }
}

TEST(SetApart, WhatWasPassedIsOneMoreRun) {
  Sighting sighting = facades();
  sighting.candidates.resize(1);
  EXPECT_EQ(set_apart(sighting, {0}).passed, 0);
  sighting.passed = {candidate(990, 0.08, 0.5f, 0, 0), candidate(991, 0.09, 0.5f, 0.4f, 5)};
  const Apart apart = set_apart(sighting, {0});
  EXPECT_NEAR(apart.candidates[0], 0.1, 1e-9);
  EXPECT_GT(apart.passed, 0);
  sighting.passed[1] = sighting.passed[0];
  EXPECT_EQ(set_apart(sighting, {0}).passed, 0);  // nothing that the candidate does not show
}

TEST(SetApart, AgreementsStayWhereNothingIsKnownCellByCell) {
  Sighting sighting = facades();
  sighting.passed = {sighting.candidates[3], sighting.candidates[0]};
  const auto forget = [](std::vector<Candidate>& all) {
    for (Candidate& one : all) one.likeness = {};
  };
  forget(sighting.candidates);
  forget(sighting.passed);
  const Apart apart = set_apart(sighting, each_its_own(sighting));
  for (std::size_t i = 0; i < apart.candidates.size(); ++i) {
    EXPECT_EQ(apart.candidates[i], sighting.candidates[i].agreement.score);
  }
  EXPECT_EQ(apart.passed, 0.1);
  EXPECT_TRUE(set_apart({}, {}).candidates.empty());
}

TEST(PlaceFilter, APlaceThatStandsOutOfAFacadeAllShowIsSurer) {
  const Sighting apart = facades();
  Sighting unknown = apart;
  for (Candidate& one : unknown.candidates) one.likeness = {};
  const Estimate sure = PlaceFilter().update(apart), unsure = PlaceFilter().update(unknown);
  EXPECT_EQ(sure.place, 0);
  EXPECT_EQ(unsure.place, 0);
  EXPECT_GT(sure.probability, unsure.probability);
  EXPECT_LT(sure.rival, unsure.rival);
}

}  // namespace
}  // namespace ria
