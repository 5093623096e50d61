// SPDX-License-Identifier: MIT
// What is a graph's alone: its bytes, its memory, its links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "index/store.h"
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

class SearchGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      check_search("hnsw");
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  /// Rows are `row(i)`'s.
  template <typename Row>
  void build(int dim, int places, Row row, Storage storage = Storage::kFloat) {
    Map::build(map_, made_up_header(dim), storage, [&](Map& map) {
      Matrix rows(places, dim);
      for (int i = 0; i < places; ++i) {
        const Descriptor one = row(i);
        std::copy(one.begin(), one.end(), rows.row(i).begin());
      }
      map.add(rows, std::vector<Place>(static_cast<std::size_t>(places)));
    });
  }
  SearchInfo optimise(std::int64_t max_memory = 1'000'000'000, std::uint64_t seed = 1) {
    OptimiseOptions options;
    options.search = "hnsw";
    options.max_memory = max_memory;
    options.seed = seed;
    return optimise_map(map_, options);
  }
  std::vector<std::uint8_t> bytes() const { return read_bytes(search_file_of(map_)); }

  const TemporaryFolder folder_;
  const fs::path map_ = folder_.path() / "m.ria";
};

TEST_F(SearchGraphTest, BytesDependOnTheSeedAndNotOnThreads) {
  build(96, 6000, [](int i) { return made_up_descriptor(i, 96); });
  const int before = omp_get_max_threads();
  std::vector<std::vector<std::uint8_t>> made;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    optimise();
    made.push_back(bytes());
  }
  omp_set_num_threads(before);
  EXPECT_TRUE(made[0] == made[1]);
  EXPECT_TRUE(made[0] == made[2]);
  optimise(1'000'000'000, 2);
  EXPECT_FALSE(made[0] == bytes());
}

TEST_F(SearchGraphTest, WhatDoesNotFitIntoMemoryIsRefusedBeforeAnyWork) {
  const Descriptor one = made_up_descriptor(1, 8);
  build(
      8, 200'000, [&](int) { return one; }, Storage::kInt8);
  const std::string why = message_of([&] { optimise(64'000'000); });
  EXPECT_THAT(why, HasSubstr("m.ria: hnsw of 200000 places takes "));
  EXPECT_THAT(why, HasSubstr("--max_memory is 64 MB"));
  EXPECT_FALSE(fs::exists(search_file_of(map_).string() + ".part"));
}

TEST_F(SearchGraphTest, EveryLevelIsOfItsDegreeAndNearlyEveryNodeIsReached) {
  build(96, 6000, [](int i) { return made_up_descriptor(i, 96); });
  optimise();
  const SearchFile file = SearchFile::open(search_file_of(map_));
  const Graph& graph = file.graph();
  std::vector<int> places(graph.places().begin(), graph.places().end());
  std::ranges::sort(places);
  for (int i = 0; i < file.shape().places; ++i) ASSERT_EQ(places[i], i);
  for (int level = 0; level < graph.shape().levels(); ++level) {
    const int nodes = graph.shape().nodes_on(level);
    std::vector<int> reached{0};
    std::vector<bool> seen(static_cast<std::size_t>(nodes));
    seen[0] = true;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const int to : graph.links(level, reached[i])) {
        if (to < 0 || seen[to]) continue;
        seen[to] = true;
        reached.push_back(to);
      }
    }
    EXPECT_GE(std::ssize(reached), nodes * 0.99) << level;
  }
}

TEST_F(SearchGraphTest, ManyEqualPlacesDoNotHideTheOthers) {
  build(96, 8000, [](int i) { return made_up_descriptor(i % 4 == 3 ? i : 0, 96); });
  optimise();
  const Map map = Map::open(map_);
  ASSERT_EQ(map.search_info().kind, "hnsw");
  int found = 0;
  for (int i = 3; i < 5400; i += 80) {
    found += map.search(made_up_descriptor(i, 96), 1)[0].place == i;
  }
  EXPECT_GE(found, 65);  // of 68
  EXPECT_EQ(map.search(made_up_descriptor(0, 96), 1)[0].place % 4 == 3, false);
}

TEST_F(SearchGraphTest, LinksThatLeadNowhereAreRefused) {
  build(96, 3000, [](int i) { return made_up_descriptor(i, 96); });
  optimise();
  const SearchFile file = SearchFile::open(search_file_of(map_));
  const GraphShape shape = file.graph().shape();
  std::vector<std::uint8_t> arrays(file.graph().shape().bytes());
  std::memcpy(arrays.data(), file.graph().code(0), arrays.size());
  const auto links = reinterpret_cast<std::int32_t*>(
      arrays.data() + static_cast<std::size_t>(shape.nodes) * shape.code_bytes());
  EXPECT_TRUE(Graph(shape, arrays.data()).sound(file.end(), 1e6f));
  for (const std::int32_t bad : {-2, shape.nodes}) {
    const std::int32_t good = std::exchange(links[5], bad);
    EXPECT_FALSE(Graph(shape, arrays.data()).sound(file.end(), 1e6f));
    links[5] = good;
  }
  EXPECT_FALSE(Graph(shape, arrays.data()).sound(100, 1e6f));
  EXPECT_FALSE(Graph(shape, arrays.data()).sound(file.end(), 1e-9f));
}

}  // namespace
}  // namespace ria
