// SPDX-License-Identifier: MIT
// Map files: what is in them, damage, foreign files, copies and merges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ria/map.h"
#include "support/error_message.h"
#include "support/made_up_map.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

constexpr int kDim = 24;

/// 400 places of 2,080 dims: a whole block of halves and a part of one.
Map with_everything(int first, int count, int dim) {
  Map map(made_up_header(dim));
  map.set_fitted({{"projection", made_up_descriptors(1, 5, 7)}, {"mean", Matrix(1, 3, 0.5f)}});
  map.add(made_up_descriptors(first, count, dim),
          made_up_places(first, count),
          made_up_locals(first, count));
  return map;
}

void expect_same(const Map& a, const Map& b) {
  EXPECT_EQ(a.size(), b.size());
  EXPECT_EQ(a.end(), b.end());
  EXPECT_EQ(a.fitted(), b.fitted());
  EXPECT_EQ(a.header().method, b.header().method);
  EXPECT_EQ(a.header().options, b.header().options);
  EXPECT_EQ(a.header().weights_sha256, b.header().weights_sha256);
  EXPECT_EQ(a.header().ria_version, b.header().ria_version);
  EXPECT_EQ(a.header().dim, b.header().dim);
  a.each_place([&](int number, const Place& place) {
    const Place other = b.place(number);
    EXPECT_EQ(place.name, other.name);
    EXPECT_EQ(place.stamp, other.stamp);
    EXPECT_EQ(std::isnan(place.x), std::isnan(other.x));
    EXPECT_EQ(place.utm_zone, other.utm_zone);
    EXPECT_EQ(a.local(number).bytes, b.local(number).bytes);
    EXPECT_EQ(a.local(number).grid_width, b.local(number).grid_width);
  });
  const Matrix queries = made_up_descriptors(5, 4, a.header().dim);
  const auto in_a = a.search(queries, 5), in_b = b.search(queries, 5);
  for (int q = 0; q < 4; ++q) {
    for (int k = 0; k < 5; ++k) EXPECT_EQ(in_a[q][k].place, in_b[q][k].place);
  }
}

class MapFileTest : public testing::Test {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  TemporaryFolder folder_;
};

TEST_F(MapFileTest, HoldsEverything) {
  const Map map = with_everything(0, 400, 2080);
  for (const Storage storage : {Storage::kFloat, Storage::kHalf, Storage::kInt8}) {
    map.save(folder_ / "m.ria", storage);
    const Map opened = Map::open(folder_ / "m.ria");
    EXPECT_EQ(opened.storage(), storage);
    expect_same(opened, map);
    EXPECT_EQ(opened.check(), std::vector<std::string>{});
  }
  EXPECT_EQ(files(), std::vector<std::string>{"m.ria"});
}

TEST_F(MapFileTest, IsOneFileWhenNobodyHasItOpen) {
  {
    Map writer = Map::create(folder_ / "m.ria", made_up_header(kDim));
    writer.add(made_up_descriptors(0, 3, kDim), made_up_places(0, 3));
    const Map reader = Map::open(folder_ / "m.ria");
    EXPECT_EQ(reader.size(), 3);
    EXPECT_GT(files().size(), 1u);  // the WAL
  }
  EXPECT_EQ(files(), std::vector<std::string>{"m.ria"});
  EXPECT_EQ(Map::open(folder_ / "m.ria").place(2).name, made_up_places(2, 1)[0].name);
  EXPECT_EQ(files(), std::vector<std::string>{"m.ria"});
  EXPECT_TRUE(contains(message_of([&] { Map::create(folder_ / "m.ria", made_up_header(kDim)); }),
                       "m.ria exists already"));
}

TEST_F(MapFileTest, CutAnywhereIsRefused) {
  with_everything(0, 4, kDim).save(folder_ / "whole.ria");
  const std::string whole = read_text(folder_ / "whole.ria");
  for (std::size_t length = 0; length < whole.size(); length += length < 200 ? 7 : 4001) {
    spill(folder_ / "cut.ria", whole.substr(0, length));
    const std::string said = message_of([&] {
      const Map map = Map::open(folder_ / "cut.ria");
      map.search(made_up_descriptor(0, kDim), 1);
    });
    EXPECT_TRUE(contains(said, "cut.ria")) << length << ": " << said;
    EXPECT_EQ(said.find('\n'), said.npos);
  }
}

TEST_F(MapFileTest, ForeignFilesAreRefused) {
  write_safetensors(folder_ / "weights.safetensors", {{"w", make_tensor({2}, {1.0f, 2.0f})}});
  write_safetensors(folder_ / "old.ria",
                    {{"descriptors", make_tensor({1, 2}, {1.0f, 0.0f})}},
                    {{"format", "ria-index-2"}, {"method", "resnet50-ria"}});
  spill(folder_ / "text.ria", "these are not the places you know");
  spill(folder_ / "empty.ria", "");
  const auto said = [&](const char* name) {
    return message_of([&] { Map::open(folder_ / name); });
  };
  EXPECT_TRUE(contains(said("nowhere.ria"), "nowhere.ria: No such file")) << said("nowhere.ria");
  EXPECT_TRUE(contains(said(""), "it is a folder")) << said("");
  for (const char* name : {"weights.safetensors", "text.ria", "empty.ria"}) {
    EXPECT_TRUE(contains(said(name), std::string(name) + " is no map of places")) << said(name);
  }
  EXPECT_TRUE(contains(said("old.ria"), "an index of an older ria")) << said("old.ria");
  EXPECT_TRUE(contains(said("old.ria"), "ria index build")) << said("old.ria");
  EXPECT_EQ(files().size(), 4u);
}

// Every byte counts: whatever is changed, the map is refused, or its check says so, or nothing that
// was kept is different.
TEST_F(MapFileTest, DamageIsFoundAndNamed) {
  const Map map = with_everything(0, 300, 2080);
  map.save(folder_ / "whole.ria");
  const std::string whole = read_text(folder_ / "whole.ria");
  std::mt19937 random(5);
  int found = 0;
  constexpr int kTries = 60;
  for (int i = 0; i < kTries; ++i) {
    std::string bytes = whole;
    const std::size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 + random() % 255));
    spill(folder_ / "damaged.ria", bytes);
    try {
      const Map damaged = Map::open(folder_ / "damaged.ria");
      const std::vector<std::string> problems = damaged.check();
      for (const std::string& problem : problems) {
        EXPECT_TRUE(contains(problem, "damaged.ria")) << problem;
        EXPECT_EQ(problem.find('\n'), problem.npos);
      }
      if (problems.empty()) {
        expect_same(damaged, map);
      } else {
        ++found;
      }
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(contains(error.what(), "damaged.ria")) << error.what();
      ++found;
    }
    ASSERT_FALSE(HasFailure()) << "byte " << at;
  }
  EXPECT_GT(found, kTries * 3 / 4);  // most bytes are descriptors
}

TEST_F(MapFileTest, SamePlacesAreTheSameBytes) {
  const Map map = with_everything(0, 600, 2080);
  map.save(folder_ / "a.ria");
  map.save(folder_ / "b.ria");
  EXPECT_EQ(read_text(folder_ / "a.ria"), read_text(folder_ / "b.ria"));
  Map::build(folder_ / "pieces.ria", map.header(), Storage::kHalf, [&](Map& built) {
    built.set_fitted(map.fitted());
    for (int first = 0; first < 600; first += 75) {
      built.add(made_up_descriptors(first, 75, 2080),
                made_up_places(first, 75),
                made_up_locals(first, 75));
    }
    EXPECT_THROW(built.search(made_up_descriptor(0, 2080), 1), std::invalid_argument);
  });
  EXPECT_TRUE(read_text(folder_ / "pieces.ria") == read_text(folder_ / "a.ria"));
}

TEST_F(MapFileTest, MergedIsAsBuiltAtOnce) {
  with_everything(0, 600, 2080).save(folder_ / "whole.ria");
  const int bounds[] = {0, 100, 399, 600};
  std::vector<fs::path> shards;
  for (int i = 0; i < 3; ++i) {
    shards.push_back(folder_ / ("shard" + std::to_string(i)));
    with_everything(bounds[i], bounds[i + 1] - bounds[i], 2080).save(shards.back());
  }
  shards.push_back(shards[1]);  // names that are there already
  EXPECT_EQ(merge_maps(shards, folder_ / "merged.ria"), 600);
  EXPECT_TRUE(read_text(folder_ / "merged.ria") == read_text(folder_ / "whole.ria"));

  Map live = Map::open(shards[0], Access::kWrite);
  EXPECT_EQ(live.merge(Map::open(folder_ / "whole.ria")), 500);
  EXPECT_EQ(live.merge(Map::open(folder_ / "whole.ria")), 0);
  expect_same(live, Map::open(folder_ / "whole.ria"));
}

TEST_F(MapFileTest, MapsOfDifferentKindsAreNotMerged) {
  const auto refused = [&](auto change, const char* part) {
    MapHeader header = made_up_header(kDim);
    change(header);
    Map map = made_up_map(2, kDim);
    const std::string said = message_of([&] { map.merge(Map(header)); });
    EXPECT_TRUE(contains(said, part)) << said;
    EXPECT_EQ(map.size(), 2);
  };
  refused([](MapHeader& h) { h.method = "resnet50-gem"; }, "resnet50-gem");
  refused([](MapHeader& h) { h.weights_sha256 = "abc123"; }, "abc123");
  refused([](MapHeader& h) { h.ria_version = "9.9.9"; }, "9.9.9");
  refused([](MapHeader& h) { h.options = "{\"d\":7}"; }, "{\"d\":7}");
  refused([](MapHeader& h) { h.dim = 25; }, "25");
  Map map = made_up_map(2, kDim), other = made_up_map(2, kDim);
  other.set_fitted({{"mean", Matrix(1, kDim, 1.0f)}});
  EXPECT_TRUE(contains(message_of([&] { map.merge(other); }), "fitted on different pictures"));
}

TEST_F(MapFileTest, WhatFailsLeavesTheOldFile) {
  made_up_map(3, kDim).save(folder_ / "m.ria");
  const std::string before = read_text(folder_ / "m.ria");
  EXPECT_THROW(Map::build(folder_ / "m.ria",
                          made_up_header(kDim),
                          Storage::kHalf,
                          [](Map& map) {
                            map.add(made_up_descriptors(0, 2, kDim), made_up_places(0, 2));
                            throw std::runtime_error("stopped");
                          }),
               std::runtime_error);
  EXPECT_EQ(read_text(folder_ / "m.ria"), before);
  EXPECT_EQ(files(), std::vector<std::string>{"m.ria"});
}

}  // namespace
}  // namespace ria
