// SPDX-License-Identifier: MIT
// Maps with a search structure beside them, against exact search of the same places.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "ria/optimise.h"
#include "structure/search_file.h"
#include "support/error_message.h"
#include "support/made_up_map.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kDim = 96, kPlaces = 20'000, kStreets = 300;

/// Places along streets: neighbours look alike, streets do not.
Matrix street_places(int first, int count, float noise, unsigned seed) {
  Matrix rows(count, kDim);
  for (int i = 0; i < count; ++i) {
    const int number = first + i;
    std::mt19937 street(static_cast<unsigned>(number % kStreets) + 1);
    std::mt19937 own(static_cast<unsigned>(number) * 7 + seed);
    std::normal_distribution<float> a, b;
    double squares = 0;
    for (float& value : rows.row(i)) {
      value = a(street) + noise * b(own);
      squares += double{value} * value;
    }
    for (float& value : rows.row(i)) value = static_cast<float>(value / std::sqrt(squares));
  }
  return rows;
}

/// By the kind of structure.
class SearchStructureTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      check_search(GetParam());
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  static void TearDownTestSuite() { made_.clear(); }
  static void build(const fs::path& file, int places = kPlaces, Storage storage = Storage::kInt8) {
    Map::build(file, made_up_header(kDim), storage, [&](Map& map) {
      map.add(street_places(0, places, 0.5f, 1), made_up_places(0, places));
    });
  }
  static OptimiseOptions options() {
    OptimiseOptions options;
    options.search = GetParam();
    return options;
  }
  static SearchInfo optimise(const fs::path& file) { return optimise_map(file, options()); }
  /// A map with a structure beside it; made once, and copied.
  void copy_made() {
    std::optional<TemporaryFolder>& made = made_[GetParam()];
    if (!made) {
      made.emplace();
      build(*made / "m.ria");
      optimise(*made / "m.ria");
    }
    for (const fs::path& file : {map_, structure_}) fs::copy_file(*made / file.filename(), file);
  }
  /// The same map without its structure.
  Map exact() {
    fs::copy_file(map_, folder_.path() / "exact.ria", fs::copy_options::overwrite_existing);
    return Map::open(folder_.path() / "exact.ria");
  }
  /// Share of queries whose first answer is that of exact search, with the same score.
  double recall(const Map& map, const Map& truth, int queries = 200) {
    // The same places seen a little differently.
    Matrix rows = map.descriptors([&] {
      std::vector<int> some;
      for (int i = 0; i < queries; ++i) some.push_back(i * 97 % 16'000);
      std::ranges::sort(some);
      return some;
    }());
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 0.03f);
    for (float& value : rows.values()) value += normal(random);
    const auto found = map.search(rows, 3), right = truth.search(rows, 3);
    int same = 0;
    for (int q = 0; q < queries; ++q) {
      same += found[q][0].place == right[q][0].place && found[q][0].score == right[q][0].score;
    }
    return static_cast<double>(same) / queries;
  }

  static inline std::map<std::string, std::optional<TemporaryFolder>> made_;
  const TemporaryFolder folder_;
  const fs::path map_ = folder_.path() / "m.ria", structure_ = folder_.path() / "m.ria.search";
};

TEST_P(SearchStructureTest, FindsWhatExactSearchFindsAndSaysHowOften) {
  for (const Storage storage : {Storage::kInt8, Storage::kHalf, Storage::kFloat}) {
    build(map_, kPlaces, storage);
    const SearchInfo made = optimise(map_);
    EXPECT_EQ(made.kind, GetParam());
    EXPECT_GT(made.recall, 0.9);
    EXPECT_GT(made.held_out, 50);
    EXPECT_LE(made.bytes / made.places, GetParam() == "hnsw" ? 240u : 150u);
    EXPECT_TRUE(GetParam() == "hnsw" ? made.ef > 0 : made.probes > 0);
    const Map map = Map::open(map_);
    EXPECT_EQ(map.search_info().kind, GetParam());
    EXPECT_GE(recall(map, exact()), 0.97);
    EXPECT_EQ(map.search_info().places, made.places);
  }
}

/// As much noise as there is descriptor.
TEST_P(SearchStructureTest, PicturesOfAnotherDayAreFoundAsOftenAsItSays) {
  copy_made();
  const Map map = Map::open(map_), truth = exact();
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Matrix queries = street_places(0, 200, 0.5f, 1);
  for (int q = 0; q < queries.rows(); ++q) {
    double squares = 0;
    for (float& value : queries.row(q)) {
      value += normal(random) / std::sqrt(static_cast<float>(kDim));
      squares += double{value} * value;
    }
    for (float& value : queries.row(q)) value /= static_cast<float>(std::sqrt(squares));
  }
  const auto found = map.search(queries, 1), right = truth.search(queries, 1);
  int same = 0;
  for (int q = 0; q < queries.rows(); ++q) same += found[q][0].place == right[q][0].place;
  EXPECT_GE(same / 200.0, map.search_info().recall - 0.03);
  EXPECT_GE(map.search_info().recall, 0.95);
}

class SearchListsTest : public SearchStructureTest {};

/// Places of which codes know little, because few are like them.
TEST_P(SearchListsTest, AFewPlacesOfAnotherKindAreFoundToo) {
  constexpr int kCommon = 40, kOther = 100;  // dims that all have; places that have the rest too
  Matrix rows = street_places(0, kPlaces, 0.5f, 1), queries(kOther, kDim);
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (int i = 0; i < kPlaces; ++i) {
    for (int j = kCommon; j < kDim; ++j) rows.row(i)[j] = i < kOther ? 0.1f * normal(random) : 0;
  }
  for (int q = 0; q < kOther; ++q) {
    for (int j = 0; j < kDim; ++j) {
      // Of what all have little is left, of what sets the place apart more.
      const float left = j < kCommon ? 0.3f : 0.7f, noise = j < kCommon ? 0.15f : 0.05f;
      queries.row(q)[j] = left * rows.row(q)[j] + noise * normal(random);
    }
  }
  Map::build(map_, made_up_header(kDim), Storage::kInt8, [&](Map& map) {
    map.add(rows, made_up_places(0, kPlaces));
  });
  optimise(map_);
  const auto found = Map::open(map_).search(queries, 1), right = exact().search(queries, 1);
  int same = 0;
  for (int q = 0; q < kOther; ++q) same += found[q][0].place == right[q][0].place;
  EXPECT_GE(same, 88);
}

TEST_P(SearchStructureTest, GivesAsManyAnswersAsThereAre) {
  copy_made();
  const Map map = Map::open(map_);
  SearchOptions few;
  few.before = 70;
  few.allowed = [](int place) { return place % 2 == 0; };
  const auto answers = map.search(street_places(0, 1, 0.5f, 1), 100, few)[0];
  EXPECT_EQ(answers.size(), 35u);
  for (const Match& match : answers) EXPECT_TRUE(match.place < 70 && match.place % 2 == 0);
  EXPECT_EQ(map.search(street_places(0, 1, 0.5f, 1), 1000)[0].size(), 1000u);
}

TEST_P(SearchStructureTest, NewPlacesAreFoundAtOnceAndRemovedOnesNoMore) {
  copy_made();
  Map map = Map::open(map_, Access::kWrite);
  const Map reader = Map::open(map_);
  const Matrix fresh = street_places(500'000, 1, 0.5f, 9);
  EXPECT_LT(reader.search(fresh, 1)[0][0].score, 0.99f);
  const int number = map.add(fresh, made_up_places(500'000, 1));
  EXPECT_EQ(map.search(fresh, 1)[0][0].place, number);
  Map beside = Map::open(map_);
  EXPECT_EQ(beside.search_info().kind, GetParam());
  EXPECT_EQ(beside.search(fresh, 1)[0][0].place, number);

  // One place, then whole blocks, whose pages are written over by what comes next.
  const Matrix old = map.descriptors({1234});
  EXPECT_EQ(map.search(old, 1)[0][0].place, 1234);
  EXPECT_EQ(beside.search(old, 1)[0][0].place, 1234);
  std::vector<int> gone{1234};
  for (int i = 4000; i < 7000; ++i) gone.push_back(i);
  map.remove(gone);
  map.add(street_places(600'000, 3000, 0.5f, 9), made_up_places(600'000, 3000));
  EXPECT_TRUE(beside.refresh());
  Map opened = Map::open(map_);
  for (Map* one : {&map, &beside, &opened}) {
    EXPECT_NE(one->search(old, 1)[0][0].place, 1234);
    EXPECT_EQ(one->search_info().kind, GetParam());
    const Matrix queries = street_places(4000, 50, 0.5f, 1);
    const auto found = one->search(queries, 1);
    for (int q = 0; q < 50; ++q) {
      const Match& best = found[q][0];
      EXPECT_TRUE(best.place < 4000 || best.place >= 7000);
      const Descriptor query(queries.row(q).begin(), queries.row(q).end());
      EXPECT_EQ(map.scores(query, {best.place}).at(0).score, best.score);
    }
  }
}

TEST_P(SearchStructureTest, ADamagedOrForeignStructureIsNotUsed) {
  copy_made();
  const std::vector<std::uint8_t> good = read_bytes(structure_);
  const auto write = [&](const std::vector<std::uint8_t>& bytes) {
    AtomicFile file(structure_);
    file.write(bytes);
    file.commit();
  };
  const Matrix query = street_places(10, 1, 0.5f, 1);
  const auto expect_exact = [&](const std::string& why) {
    const Map map = Map::open(map_);
    EXPECT_EQ(map.search_info().kind, "exact");
    EXPECT_THAT(map.search_info().note, HasSubstr(why));
    EXPECT_EQ(map.search(query, 1)[0][0].place, 10);
  };
  for (const std::size_t at : {std::size_t{12}, good.size() / 2, good.size() - 3}) {
    std::vector<std::uint8_t> bad = good;
    bad[at] ^= 0x40;
    write(bad);
    expect_exact("damaged");
  }
  write({good.begin(), good.begin() + 1000});
  expect_exact("damaged");
  write({});
  expect_exact("");
  write(good);
  EXPECT_EQ(Map::open(map_).search_info().kind, GetParam());
  Map::build(map_, made_up_header(kDim), Storage::kInt8, [](Map& map) {
    map.add(street_places(0, kPlaces, 0.5f, 77), made_up_places(0, kPlaces));
  });
  const Map other = Map::open(map_);
  EXPECT_EQ(other.search_info().kind, "exact");
  EXPECT_THAT(other.search_info().note, HasSubstr("another state"));
}

TEST_P(SearchStructureTest, AnInterruptedRunGoesOnToTheSameBytes) {
  build(map_, kPlaces, Storage::kFloat);  // in several blocks
  optimise(map_);
  const std::vector<std::uint8_t> calm = read_bytes(structure_);
  const fs::path part = structure_.string() + ".part";
  for (const int eighths : {3, 6}) {  // of a graph: while places are coded, and linked
    fs::remove(structure_);
    OptimiseOptions stopped = options();
    std::stop_source stop;
    stopped.stop = stop.get_token();
    stopped.progress = [&](int done, int total) {
      if (done > total / 8 * eighths) stop.request_stop();
    };
    EXPECT_THROW(optimise_map(map_, stopped), std::runtime_error);
    EXPECT_FALSE(fs::exists(structure_));
    ASSERT_TRUE(fs::exists(part));
    fs::resize_file(part, fs::file_size(part) - 11);  // as a crash leaves it
    int first = -1;
    OptimiseOptions again = options();
    again.progress = [&](int done, int) { first = first < 0 ? done : first; };
    optimise_map(map_, again);
    EXPECT_GT(first, kPlaces / 4);
    EXPECT_TRUE(read_bytes(structure_) == calm);
    EXPECT_FALSE(fs::exists(part));
  }
}

TEST_P(SearchStructureTest, FullDiskLeavesWhatWasThere) {
  copy_made();
  const std::vector<std::uint8_t> before = read_bytes(structure_);
  struct Limit {
    explicit Limit(rlim_t bytes) {
      ::getrlimit(RLIMIT_FSIZE, &old);
      const rlimit small{bytes, old.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &small);
      handler = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~Limit() {
      ::setrlimit(RLIMIT_FSIZE, &old);
      std::signal(SIGXFSZ, handler);
    }
    rlimit old{};
    void (*handler)(int);
  };
  {
    const Limit limit(200'000);
    EXPECT_THAT(message_of([&] { optimise(map_); }), HasSubstr("m.ria.search"));
  }
  EXPECT_TRUE(read_bytes(structure_) == before);
  EXPECT_EQ(Map::open(map_).search_info().kind, GetParam());
}

TEST_P(SearchStructureTest, ReadersGoOnBesideAWriter) {
  copy_made();
  const Matrix query = street_places(777, 1, 0.5f, 1);
  std::jthread writer([&](std::stop_token stop) {
    Map map = Map::open(map_, Access::kWrite);
    for (int i = 0; !stop.stop_requested(); ++i) {
      const int number = map.add(street_places(900'000 + i, 1, 0.5f, 3), made_up_places(i, 1));
      map.remove({number, 20'000 + i});
    }
  });
  Map map = Map::open(map_);
  for (int i = 0; i < 30; ++i) {
    const auto answers = map.search(query, 2)[0];
    EXPECT_EQ(answers[0].place, 777);
    if (i % 3 == 0) map.refresh();
  }
}

TEST_P(SearchStructureTest, FewPlacesAreSearchedExactly) {
  build(map_, 500);
  EXPECT_EQ(optimise_map(map_).kind, "exact");  // auto
  EXPECT_FALSE(fs::exists(structure_));
  EXPECT_EQ(Map::open(map_).search_info().note, "");
}

TEST_P(SearchStructureTest, WhereFewPlacesAreAllowedTheNearestOfThemIsFound) {
  copy_made();
  const Map map = Map::open(map_), truth = exact();
  SearchOptions some;
  some.allowed = [](int place) { return place % 40 == 7; };
  const Matrix queries = street_places(30'000, 100, 0.5f, 1);
  const auto found = map.search(queries, 1, some), right = truth.search(queries, 1, some);
  int same = 0;
  for (int q = 0; q < queries.rows(); ++q) same += found[q][0].place == right[q][0].place;
  EXPECT_GE(same, 88);
}

INSTANTIATE_TEST_SUITE_P(, SearchStructureTest, testing::Values("ivfpq", "hnsw"), [](auto& one) {
  return one.param;
});
INSTANTIATE_TEST_SUITE_P(, SearchListsTest, testing::Values("ivfpq"));

}  // namespace
}  // namespace ria
