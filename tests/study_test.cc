// SPDX-License-Identifier: MIT
// The studies on a few rendered pictures with the backbone that needs no weights.
#include "ria/study.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cache_in.h"
#include "ria/simulate.h"
#include "temporary_folder.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class StudyTest : public testing::Test {
 protected:
  void SetUp() override {
    SimulateOptions street;
    street.places = 8;
    street.height = 60;
    street.width = 80;
    const SimulatedFolders folders = simulate(folder_ / "street", street);
    dataset_ = load_at_named(folders.database, folders.queries);
    options_.backbone = "rootsift";
    options_.pictures = 4;
    options_.folder = folder_ / "kept";
    options_.evaluate.run.feature_cache = folder_ / "features";
    options_.method.longest_side = 80;
  }

  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
  Dataset dataset_;
  StudyOptions options_;
};

TEST_F(StudyTest, EveryStudyRunsAndSaysWhatItLeavesOut) {
  for (const StudyInfo& info : studies()) {
    SCOPED_TRACE(info.name);
    const StudyResult result = run_study(info.name, dataset_, options_);
    EXPECT_EQ(result.study, info.name);
    ASSERT_FALSE(result.tables.empty());
    for (const StudyTable& table : result.tables) {
      EXPECT_FALSE(table.rows.empty());
      for (const auto& row : table.rows) EXPECT_EQ(row.fields.size(), table.columns.size());
    }
    const auto json = nlohmann::json::parse(to_json(result));
    EXPECT_EQ(json["tables"].size(), result.tables.size());
    EXPECT_THAT(result.text(), HasSubstr(info.title));
  }
  const StudyResult methods = run_study("methods", dataset_, options_);
  EXPECT_THAT(methods.text(), HasSubstr("salad was left out: "));
}

TEST_F(StudyTest, FinishedCellsAreNotRepeated) {
  const StudyResult first = run_study("tau-eps", dataset_, options_);
  ASSERT_EQ(first.evaluations.size(), 36u);
  ASSERT_EQ(first.heat_maps.size(), 1u);
  EXPECT_EQ(first.heat_maps[0].values.rows(), 6);
  const auto cells = std::distance(fs::directory_iterator(folder_ / "kept" / "cells"), {});
  EXPECT_EQ(cells, 36);
  // Without the pictures nothing could be computed again.
  for (const auto& picture : dataset_.queries) fs::resize_file(picture, fs::file_size(picture));
  fs::remove_all(folder_ / "features");
  const StudyResult again = run_study("tau-eps", dataset_, options_);
  EXPECT_FALSE(fs::exists(folder_ / "features")) << "a cell was computed again";
  EXPECT_EQ(again.heat_maps[0].values, first.heat_maps[0].values);
  EXPECT_EQ(again.text(), first.text());
}

TEST_F(StudyTest, ScaledFeaturesLeaveTheDescriptorWithoutRegularisation) {
  const StudyResult drift = run_study("drift", dataset_, options_);
  ASSERT_EQ(drift.tables.size(), 3u);
  const StudyTable& scaled = drift.tables[2];
  const auto& bare = scaled.rows.back();
  EXPECT_THAT(bare.name, HasSubstr("normalize_patches=false,tau=0,eps=0"));
  for (const StudyField& field : bare.fields) EXPECT_LT(std::abs(*field.value), 1e-6);
}

TEST_F(StudyTest, WrongInputIsRefusedByName) {
  EXPECT_THROW(run_study("nonsense", dataset_, options_), std::invalid_argument);
  options_.pictures = 0;
  EXPECT_THROW(run_study("drift", dataset_, options_), std::invalid_argument);
  options_.pictures = 1;
  options_.backbone = "nonsense";
  EXPECT_THROW(run_study("drift", dataset_, options_), std::invalid_argument);
}

}  // namespace
}  // namespace ria
