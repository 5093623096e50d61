// SPDX-License-Identifier: MIT
// What one picture says by itself.
#include <gtest/gtest.h>

#include <random>

#include "ria/evaluate.h"
#include "ria/loop.h"

namespace ria {
namespace {

constexpr int kPlaces = 300;

/// Cosines of unlike places, and patches that agree by chance.
struct View {
  std::vector<Match> cosines;
  std::unordered_map<int, double> agreements;

  View() {
    std::mt19937 random(1);
    std::normal_distribution<float> noise(0.1f, 0.03f);
    for (int i = 0; i < kPlaces; ++i) {
      cosines.push_back({i, noise(random)});
      agreements[i] = 0.02;
    }
  }
  void show(int place, float cosine, double agreement) {
    cosines[place].score = cosine;
    agreements[place] = agreement;
  }
  Match guess() const { return guess_place(cosines, agreements); }
};

TEST(GuessPlace, SaysWhichPlaceAndIsSureWherePatchesAgree) {
  View view;
  view.show(120, 0.5f, 0.3);
  EXPECT_EQ(view.guess().place, 120);
  EXPECT_GT(view.guess().score, 0.9);
}

TEST(GuessPlace, IsLessSureTheLessPatchesAgree) {
  float before = 1;
  for (const double agreement : {0.2, 0.1, 0.05, 0.03}) {
    View view;
    view.show(120, 0.4f, agreement);
    EXPECT_LE(view.guess().score, before) << agreement;
    before = view.guess().score;
  }
  EXPECT_LT(before, 0.5);
}

TEST(GuessPlace, TwoPlacesThatLookAlikeShareIt) {
  View view;
  view.show(60, 0.5f, 0.3);
  view.show(220, 0.5f, 0.3);
  EXPECT_LE(view.guess().score, 0.5);
}

TEST(GuessPlace, ANeighbourIsNoSurerForHavingTheRivalsAroundIt) {
  View view;
  view.show(120, 0.5f, 0.13);
  view.show(129, 0.49f, 0.11);
  // Apart from the place, but not from its neighbour.
  for (int place = 134; place < 138; ++place) view.show(place, 0.48f, 0.1);
  EXPECT_EQ(view.guess().place, 120);
  EXPECT_LT(view.guess().score, 0.75);
}

TEST(GuessPlace, AStretchThatIsMostAlikeIsComparedWithPlacesElsewhereToo) {
  const auto guess_beside = [](double elsewhere) {
    View view;
    for (auto& [place, agreement] : view.agreements) agreement = elsewhere;
    // More of them than there are candidates, and all around one place.
    for (int place = 100; place < 125; ++place) view.show(place, 0.5f, 0.05);
    view.show(112, 0.51f, 0.2);
    return view.guess().score;
  };
  EXPECT_GT(guess_beside(0.01), 0.8);
  EXPECT_LT(guess_beside(0.15), 0.3);
}

TEST(GuessPlace, KnowsNothingOfAnEmptyMapOrWithoutPatches) {
  EXPECT_EQ(guess_place({}, {}).place, -1);
  EXPECT_EQ(guess_place(View().cosines, {}).place, -1);
}

TEST(GuessPlace, PlacesThatWereNotComparedAreNoAnswers) {
  View view;
  view.show(120, 0.5f, 0.3);
  view.agreements.erase(120);
  EXPECT_NE(view.guess().place, 120);
}

TEST(GuessPlace, AnswersAreCountedFromTheDecisionOn) {
  Dataset dataset;
  dataset.positives = {{1, 2}, {3}, {}, {4}};
  Evaluation e;
  e.queries = 4;
  e.predictions = {{{1, 0.9f}}, {{2, 0.8f}}, {{5, 0.7f}}, {{4, 0.6f}}};
  const auto sure = static_cast<float>(LoopOptions().decision);
  e.guesses = {{1, 1.0f}, {2, sure}, {5, 0.9f}, {4, sure / 2}};
  judge(dataset, {1}, e);
  EXPECT_EQ(e.open_set.answers, 3);
  EXPECT_EQ(e.open_set.right, 1);
  EXPECT_DOUBLE_EQ(e.open_set.precision, 1.0 / 3);
  EXPECT_DOUBLE_EQ(e.open_set.recall, 1.0 / 3);  // one query has no right answer
}

}  // namespace
}  // namespace ria
