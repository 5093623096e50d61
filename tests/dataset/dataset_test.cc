// SPDX-License-Identifier: MIT
#include "ria/dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ria/evaluate.h"
#include "ria/image.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

TEST(Positions, AreReadFromTheFileName) {
  const auto position = parse_position("some@where/@0584987.25@4477313.50@17@T@.jpg");
  ASSERT_TRUE(position);
  EXPECT_EQ((*position)[0], 584987.25);
  EXPECT_EQ((*position)[1], 4477313.5);
  EXPECT_EQ((*parse_position("x@-1.5@2@.png"))[0], -1.5);
  for (const char* name :
       {"plain.jpg", "@1.jpg", "@1@x@.jpg", "@@2@.jpg", "@1@nan@.jpg", "@1e999@2@.jpg"}) {
    EXPECT_FALSE(parse_position(name)) << name;
  }
}

class AtNamed : public ::testing::Test {
 protected:
  void add(const std::string& folder, double east, double north) {
    fs::create_directories(folder_ / folder);
    char name[64];
    std::snprintf(name, sizeof name, "@%.2f@%.2f@%03d@.jpg", east, north, count_++);
    write_text(folder_ / folder / name, "");
  }
  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(AtNamed, PositivesAreWithinTheRadiusInclusive) {
  add("database", 100, 100);
  add("database", 125, 100);
  add("database", 125.01, 100);
  add("queries", 100, 100);
  const Dataset d = load_at_named(folder_ / "database", folder_ / "queries", 25);
  EXPECT_EQ(d.positives, (std::vector<std::vector<int>>{{0, 1}}));
}

TEST_F(AtNamed, PositivesEqualBruteForce) {
  std::mt19937 engine(1);
  std::uniform_int_distribution<int> coordinate(0, 200);
  for (int i = 0; i < 60; ++i) add("database", coordinate(engine), coordinate(engine));
  for (int i = 0; i < 30; ++i) add("queries", coordinate(engine), coordinate(engine));
  const Dataset d = load_at_named(folder_ / "database", folder_ / "queries", 40);
  for (std::size_t q = 0; q < d.queries.size(); ++q) {
    std::vector<int> expected;
    for (std::size_t i = 0; i < d.database.size(); ++i) {
      const auto a = *parse_position(d.queries[q]), b = *parse_position(d.database[i]);
      if (std::hypot(a[0] - b[0], a[1] - b[1]) <= 40) expected.push_back(static_cast<int>(i));
    }
    EXPECT_EQ(d.positives[q], expected);
  }
}

TEST_F(AtNamed, ANameWithoutPositionIsRefusedByName) {
  add("database", 1, 1);
  add("queries", 1, 1);
  write_text(folder_ / "queries" / "plain.jpg", "");
  try {
    load_at_named(folder_ / "database", folder_ / "queries");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("plain.jpg"), std::string::npos);
  }
}

TEST(GroundTruth, IsReadRelativeToItsFile) {
  const TemporaryFolder folder;
  write_text(
      folder / "gt.json",
      R"({"queries": ["q/1.jpg"], "database": ["d/a.jpg", "d/b.jpg"], "positives": [[1, 0]]})");
  const Dataset d = load_ground_truth(folder / "gt.json");
  EXPECT_EQ(d.queries[0], folder / "q/1.jpg");
  EXPECT_EQ(d.positives[0], (std::vector<int>{0, 1}));
}

TEST(GroundTruth, WrongFilesAreRefused) {
  const TemporaryFolder folder;
  for (const char* text : {"",
                           "[]",
                           "{}",
                           R"({"queries": 3, "database": [], "positives": []})",
                           R"({"queries": [], "database": [], "positives": []})",
                           R"({"queries": ["a"], "database": ["b"], "positives": []})",
                           R"({"queries": ["a"], "database": ["b"], "positives": [[1]]})",
                           R"({"queries": ["a"], "database": ["b"], "positives": [[-1]]})"}) {
    write_text(folder / "gt.json", text);
    EXPECT_THROW(load_ground_truth(folder / "gt.json"), std::runtime_error) << text;
  }
}

TEST(Recall, CountsAllQueriesEvenThoseWithoutPositives) {
  const std::vector<std::vector<Match>> predictions{
      {{3, 0.9f}, {1, 0.8f}}, {{0, 0.9f}, {2, 0.1f}}, {}, {{5, 1.0f}}};
  const std::vector<std::vector<int>> positives{{1}, {0, 4}, {2}, {}};
  const auto recall = recall_at(predictions, positives, {1, 2, 10});
  EXPECT_EQ(recall.at(1), 25.0);
  EXPECT_EQ(recall.at(2), 50.0);
  EXPECT_EQ(recall.at(10), 50.0);
}

}  // namespace
}  // namespace ria
