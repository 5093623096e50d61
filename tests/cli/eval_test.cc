// SPDX-License-Identifier: MIT
// `ria eval`, `ria simulate` and `ria demo`.
#include <array>
#include <nlohmann/json.hpp>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

TEST_F(CliTest, EvalMeasuresSeveralMethodsOnSimulatedDrives) {
  const std::string made =
      works({"simulate", "street", "--places", "6", "--width", "160", "--height", "120"});
  EXPECT_EQ(made, "street/database\nstreet/queries\n");
  const auto said = lines(works({"eval",
                                 "--database_folder",
                                 "street/database",
                                 "--queries_folder",
                                 "street/queries",
                                 "--json",
                                 "x.json",
                                 "--method",
                                 "rootsift-ria",
                                 "--method",
                                 "rootsift-gem"}));
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0], "street/queries in street/database: 6 queries, 6 places");
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_TRUE(testing::internal::RE::FullMatch(
        said[i], "rootsift-(ria|gem): R@1: [0-9.]+, R@5: [0-9.]+, R@10: [0-9.]+, R@20: [0-9.]+"))
        << said[i];
  }
  const json results = json::parse(read_text(folder_ / "x.json"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["method"], "rootsift-ria");
  EXPECT_EQ(results[1]["method"], "rootsift-gem");
  for (const json& result : results) {
    for (const char* key :
         {"method", "dataset", "queries", "database", "dim", "recall", "seconds", "options"}) {
      EXPECT_TRUE(result.contains(key)) << key;
    }
    EXPECT_EQ(result["queries"], 6);
    EXPECT_EQ(result["database"], 6);
    EXPECT_EQ(result["recall"].size(), 4u);
    EXPECT_EQ(result["recall"]["20"], 100.0);
  }
}

TEST_F(CliTest, EvalReadsGroundTruth) {
  pictures();
  json truth = {{"positives", std::vector<std::vector<int>>{{0}, {1}, {0}, {}}}};
  for (int i = 0; i < 4; ++i) {
    truth["database"].push_back(fmt::format("pictures/p{:03}.png", i));
    truth["queries"].push_back(fmt::format("pictures/p{:03}.png", i));
  }
  spill(folder_ / "gt.json", truth.dump());
  const Args eval = Args{"eval", "--dataset", "gt.json"} + kFast;
  const auto said = lines(works(eval));  // query 2's right place comes later, query 3 has none
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "work: 4 queries, 4 places");
  EXPECT_EQ(said[1], "rootsift-gem: R@1: 50.0, R@5: 75.0, R@10: 75.0, R@20: 75.0");
  const auto one = lines(works(eval + Args{"--recall_values", "1", "2", "--json", "-"}));
  EXPECT_TRUE(one[1].starts_with("rootsift-gem: R@1: 50.0, R@2: ")) << one[1];
  EXPECT_EQ(one[2], "[");
  refused(2, eval + Args{"--recall_values", "0"}, {"--recall_values", "0", "at least 1"});
}

TEST_F(CliTest, BadGroundTruthIsRefused) {
  pictures();
  const std::string p = R"(["pictures/p000.png"])";
  const std::vector<std::array<std::string, 2>> bad = {
      {"not JSON", "expected"},
      {"[]", "expected"},
      {"", "expected"},
      {R"({"queries": )" + p + "}", "expected"},
      {R"({"queries": 7, "database": )" + p + R"(, "positives": [[0]]})", "expected"},
      {R"({"queries": [], "database": [], "positives": []})", "no pictures"},
      {R"({"queries": )" + p + R"(, "database": )" + p + R"(, "positives": [[1]]})", "past"},
      {R"({"queries": )" + p + R"(, "database": )" + p + R"(, "positives": [[-1]]})", "past"},
      {R"({"queries": )" + p + R"(, "database": )" + p + R"(, "positives": [[0], []]})", "2 lists"},
      {R"({"queries": )" + p + R"(, "database": )" + p + R"(, "positives": ["0"]})", "expected"}};
  for (const auto& [text, expected] : bad) {
    SCOPED_TRACE(text);
    spill(folder_ / "gt.json", text);
    refused(1, Args{"eval", "--dataset", "gt.json"} + kFast, {"gt.json", expected});
  }
  refused(1, Args{"eval", "--dataset", "nowhere.json"} + kFast, {"nowhere.json"});
  refused(1,
          Args{"eval", "--database_folder", "pictures", "--queries_folder", "pictures"} + kFast,
          {"pictures/p000.png", "@east@north@"});
}

TEST_F(CliTest, DemoWithoutWeightsWritesAReport) {
  const std::string said = works({"demo",
                                  "--backbone",
                                  "rootsift",
                                  "--places",
                                  "3",
                                  "--width",
                                  "160",
                                  "--height",
                                  "120",
                                  "--out",
                                  "made"});
  EXPECT_NE(said.find("report: made/report.html\n"), said.npos) << said;
  EXPECT_NE(read_text(folder_ / "made" / "report.html").find("rootsift-ria"), std::string::npos);
  refused(2, {"demo", "--backbone", "telepathy"}, {"telepathy", "'ria methods' lists all"});
}

}  // namespace
}  // namespace ria::cli_test
