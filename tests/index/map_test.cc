// SPDX-License-Identifier: MIT
#include "ria/map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "index/rows.h"
#include "index/scan.h"
#include "ria/eigen.h"
#include "support/error_message.h"
#include "support/made_up_map.h"
#include "support/temporary_folder.h"

namespace ria {
namespace {

constexpr int kDim = 24;

std::vector<int> places_of(const std::vector<Match>& matches) {
  std::vector<int> places;
  for (const Match& match : matches) places.push_back(match.place);
  return places;
}

class MapStorageTest : public testing::TestWithParam<Storage> {
 protected:
  double tolerance() const {
    return GetParam() == Storage::kFloat ? 1e-6 : GetParam() == Storage::kHalf ? 2e-4 : 1e-2;
  }
};

TEST_P(MapStorageTest, SearchEqualsBruteForceOverWhatIsKept) {
  const int dim = 72;
  const Map map = made_up_map(150, dim, GetParam());
  std::vector<int> all(150);
  for (int i = 0; i < 150; ++i) all[i] = i;
  const Matrix queries = made_up_descriptors(1000, 40, dim), kept = map.descriptors(all);
  const EigenMatrix scores = as_eigen(queries) * as_eigen(kept).transpose();
  const EigenMatrix exact =
      as_eigen(queries) * as_eigen(made_up_descriptors(0, 150, dim)).transpose();
  EXPECT_LT((scores - exact).cwiseAbs().maxCoeff(), tolerance());
  const auto found = map.search(queries, 7);
  for (int q = 0; q < 40; ++q) {
    std::vector<int> order = all;
    std::ranges::sort(order, [&](int a, int b) { return scores(q, a) > scores(q, b); });
    ASSERT_EQ(found[q].size(), 7u);
    for (int k = 0; k < 7; ++k) {
      EXPECT_NEAR(found[q][k].score, scores(q, order[k]), 2e-5);
      EXPECT_NEAR(scores(q, found[q][k].place), scores(q, order[k]), 2e-5);
    }
  }
}

TEST_P(MapStorageTest, APlaceIsMostLikeItself) {
  const Map map = made_up_map(60, 100, GetParam());
  for (int i = 0; i < 60; ++i) {
    const Match best = map.search(made_up_descriptor(i, 100), 1).front();
    EXPECT_EQ(best.place, i);
    EXPECT_NEAR(best.score, 1, 1e-5);
  }
}

TEST_P(MapStorageTest, EveryKindOfCpuAndAnyNumberOfQueriesFindTheSame) {
  const RowForm form{GetParam(), 300};
  Rows rows(form);
  std::vector<int> places(700);
  for (int i = 0; i < 700; ++i) places[i] = i;
  rows.add(encode(made_up_descriptors(0, 700, 300), form), places);
  const Matrix queries = made_up_descriptors(2000, 70, 300);
  const auto expected = scan_nearest(rows, queries, 5, {});
  for (const ScanKernels* kernels : scan_kernels()) {
    const auto found = scan_nearest(rows, queries, 5, {}, *kernels);
    for (int q = 0; q < 70; ++q) {
      EXPECT_EQ(places_of(found[q]), places_of(expected[q])) << kernels->name;
    }
  }
  for (int q = 0; q < 70; q += 9) {
    const auto alone = scan_nearest(rows, made_up_descriptors(2000 + q, 1, 300), 5, {}).front();
    for (int k = 0; k < 5; ++k) EXPECT_EQ(alone[k].score, expected[q][k].score);
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         MapStorageTest,
                         testing::Values(Storage::kFloat, Storage::kHalf, Storage::kInt8),
                         [](const auto& info) { return to_string(info.param); });

TEST(Map, OfEqualsTheLowerNumberComesFirst) {
  Map map(made_up_header(kDim));
  Matrix same(3000, kDim, 0.0f);
  for (int i = 0; i < 3000; ++i) same(i, i % 3) = 1;
  map.add(same, std::vector<Place>(3000));
  Descriptor query(kDim, 0.0f);
  query[1] = 1;
  EXPECT_EQ(places_of(map.search(query, 4)), (std::vector{1, 4, 7, 10}));
}

TEST(Map, SomePlacesMayNotBeAnswers) {
  const Map map = made_up_map(50, kDim);
  const Descriptor query = made_up_descriptor(30, kDim);
  const std::vector<Match> all = map.scores(query);
  ASSERT_EQ(all.size(), 50u);
  std::vector<Match> order = all;
  std::ranges::stable_sort(order, std::greater{}, &Match::score);
  EXPECT_EQ(places_of(map.search(query, 50)), places_of(order));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(all[i].place, i);
  SearchOptions old;
  old.before = 30;
  for (const Match& match : map.search(query, 99, old)) EXPECT_LT(match.place, 30);
  EXPECT_EQ(map.search(query, 99, old).size(), 30u);
  SearchOptions even;
  even.allowed = [](int place) { return place % 2 == 0; };
  std::erase_if(order, [](const Match& match) { return match.place % 2 != 0; });
  order.resize(5);
  EXPECT_EQ(places_of(map.search(query, 5, even)), places_of(order));
  even.allowed = [](int) -> bool { throw std::runtime_error("asked too much"); };
  EXPECT_THROW(map.search(query, 5, even), std::runtime_error);
}

TEST(Map, GivesFewerAnswersThanAskedWhereItHoldsFewer) {
  const Descriptor query = made_up_descriptor(9, kDim);
  EXPECT_EQ(made_up_map(3, kDim).search(query, 10).size(), 3u);
  EXPECT_TRUE(made_up_map(0, kDim).search(query, 10).empty());
  EXPECT_TRUE(made_up_map(0, kDim).scores(query).empty());
  EXPECT_THROW(made_up_map(3, kDim).search(query, 0), std::invalid_argument);
}

TEST(Map, RefusesOtherWidthsAndNaN) {
  Map map = made_up_map(3, kDim);
  EXPECT_THROW(map.search(Matrix(1, kDim + 1, 1.0f), 1), std::invalid_argument);
  EXPECT_THROW(map.add(Matrix(1, kDim - 1, 1.0f), {{"x"}}), std::invalid_argument);
  EXPECT_THROW(map.add(Matrix(2, kDim, 1.0f), {{"x"}}), std::invalid_argument);
  EXPECT_THROW(map.add(Matrix(1, kDim, 1.0f), {{"x"}}, made_up_locals(0, 1)),
               std::invalid_argument);
  Matrix nan(1, kDim, 1.0f);
  nan(0, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(map.add(nan, {{"x"}}), std::invalid_argument);
  EXPECT_THROW(map.search(nan, 1), std::invalid_argument);
  EXPECT_THROW(Map({"m", "{}", "", "", 0}), std::invalid_argument);
  EXPECT_THROW(map.place(3), std::invalid_argument);
  EXPECT_THROW(map.local(0), std::invalid_argument);
  EXPECT_EQ(map.size(), 3);
}

TEST(Map, NamesSayWhatTheyKnow) {
  const Place place =
      place_named("a/@0548312.5@4180000.25@33@S@37.7@15.2@pano@@271.5@@@@201511@@.jpg");
  EXPECT_EQ(place.x, 548312.5);
  EXPECT_EQ(place.y, 4180000.25);
  EXPECT_EQ(place.utm_zone, 33);
  EXPECT_EQ(place.heading, 271.5);
  EXPECT_EQ(place_named("@1@2@54@H@@@@@@@@@@.jpg").utm_zone, -54);
  const Place local = place_named("@3@4@.jpg");
  EXPECT_EQ(local.x, 3);
  EXPECT_EQ(local.utm_zone, 0);
  for (const char* name : {"plain.jpg", "@@@.jpg", "@a@b@.jpg", "", "@1@", "@1@2"}) {
    EXPECT_TRUE(std::isnan(place_named(name).x)) << name;
    EXPECT_EQ(place_named(name).name, name);
  }
}

/// A map and what it should hold, under random changes by two writers and a reader. Blocks of this
/// width hold 64 places, so that all ways of keeping descriptors are met.
class MapModelTest : public testing::Test {
 protected:
  static constexpr int kWide = 8192;

  void add(Map& map) {
    const int count = 1 + static_cast<int>(random_() % 50);
    const int first = map.add(made_up_descriptors(next_, count, kWide),
                              made_up_places(next_, count),
                              made_up_locals(next_, count));
    for (int i = 0; i < count; ++i) model_[first + i] = next_ + i;
    next_ += count;
  }

  void remove(Map& map) {
    std::vector<int> gone;
    const unsigned share = 1 + random_() % 4;
    for (const auto& [number, made_of] : model_) {
      if (random_() % 4 < share) gone.push_back(number);
    }
    gone.push_back(next_ + 12345);
    map.remove(gone);
    for (const int number : gone) model_.erase(number);
  }

  void expect_model(const Map& map) const {
    ASSERT_EQ(map.size(), static_cast<int>(model_.size()));
    std::vector<int> numbers;
    map.each_place([&](int number, const Place& place) {
      numbers.push_back(number);
      EXPECT_EQ(place.name, made_up_places(model_.at(number), 1)[0].name);
    });
    const Matrix kept = map.descriptors(numbers);
    for (std::size_t i = 0; i < numbers.size(); i += 17) {
      const int made_of = model_.at(numbers[i]);
      const Descriptor expected = made_up_descriptor(made_of, kWide);
      EXPECT_NEAR(cosine(kept.row(static_cast<int>(i)), expected), 1, 1e-5);
      EXPECT_EQ(map.local(numbers[i]).bytes, made_up_locals(made_of, 1)[0].bytes);
      EXPECT_EQ(map.search(expected, 1).front().place, numbers[i]);
      EXPECT_EQ(map.find(made_up_places(made_of, 1)[0].name), std::vector{numbers[i]});
    }
    EXPECT_EQ(map.scores(made_up_descriptor(0, kWide)).size(), numbers.size());
    EXPECT_EQ(map.check(), std::vector<std::string>{});
  }

  static double cosine(std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }

  TemporaryFolder folder_;
  std::mt19937 random_{7};
  std::map<int, int> model_;  // number -> what the place was made of
  int next_ = 0;
};

TEST_F(MapModelTest, OfTwoWritersAndAReader) {
  const auto file = folder_ / "m.ria";
  Map first = Map::create(file, made_up_header(kWide));
  Map second = Map::open(file, Access::kWrite);
  Map reader = Map::open(file);
  reader.search(made_up_descriptor(0, kWide), 1);  // descriptors are in memory from the start
  for (int step = 0; step < 12; ++step) {
    Map& writer = random_() % 2 == 0 ? first : second;
    random_() % 3 == 0 ? remove(writer) : add(writer);
    EXPECT_TRUE(reader.refresh());
    EXPECT_FALSE(reader.refresh());
    expect_model(reader);
    expect_model(writer);
    if (step % 4 == 3) expect_model(Map::open(file));
    if (HasFailure()) return;
  }
  EXPECT_THROW(reader.add(made_up_descriptors(0, 1, kWide), {{"x"}}), std::invalid_argument);
  EXPECT_THROW(reader.remove({0}), std::invalid_argument);
}

TEST_F(MapModelTest, InMemory) {
  Map map(made_up_header(kWide), Storage::kInt8);
  for (int step = 0; step < 8; ++step) {
    random_() % 3 == 0 ? remove(map) : add(map);
    for (const auto& [number, made_of] : model_) {
      if (number % 25 != 0) continue;
      EXPECT_EQ(map.search(made_up_descriptor(made_of, kWide), 1).front().place, number);
    }
  }
  map.save(folder_ / "saved.ria", Storage::kHalf);
  const Map saved = Map::open(folder_ / "saved.ria");
  EXPECT_EQ(saved.size(), map.size());
  EXPECT_EQ(saved.check(), std::vector<std::string>{});
}

// A robot that forgets as fast as it learns.
TEST_F(MapModelTest, FileAndMemoryDoNotGrowWithWhatIsForgotten) {
  const auto file = folder_ / "m.ria";
  Map map = Map::create(file, made_up_header(kWide));
  std::vector<int> here;
  std::uintmax_t size = 0;
  for (int step = 0; step < 300; ++step) {
    here.push_back(map.add(made_up_descriptors(step, 1, kWide), made_up_places(step, 1)));
    if (here.size() > 40) {
      const std::size_t i = random_() % here.size();
      map.remove({here[i]});
      here.erase(here.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (step == 100) size = std::filesystem::file_size(file);
  }
  EXPECT_EQ(map.size(), 40);
  EXPECT_EQ(map.check(), std::vector<std::string>{});
  Map copy = std::move(map);
  EXPECT_LT(std::filesystem::file_size(file), 3 * size + 4'000'000);
  for (const int place : here) {
    EXPECT_EQ(copy.search(made_up_descriptor(place, kWide), 1).front().place, place);
  }
}

}  // namespace
}  // namespace ria
