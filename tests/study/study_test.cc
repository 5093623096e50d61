// SPDX-License-Identifier: MIT
// The studies on a few rendered pictures with the backbone that needs no weights.
#include "ria/study.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "ria/eigen.h"
#include "ria/simulate.h"
#include "study/per_picture.h"
#include "support/cache_in.h"
#include "support/temporary_folder.h"

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

TEST_F(StudyTest, WhatIsKeptOfAPlaceIsCounted) {
  const StudyResult beyond = run_study("beyond", dataset_, options_);
  const StudyTable& table = beyond.tables.at(0);
  ASSERT_EQ(table.rows.size(), 12u);
  ASSERT_EQ(table.columns[6], "bytes/place");
  EXPECT_EQ(*table.rows[4].fields[0].value, 8256);
  for (std::size_t m = 0; m < 12; ++m) {
    const double dim = *table.rows[m].fields[0].value, bytes = *table.rows[m].fields[6].value;
    if (m < 6) {
      EXPECT_EQ(bytes, 4 * dim) << table.rows[m].name;
    } else {
      EXPECT_EQ(dim, *table.rows[m - 6].fields[0].value);
      EXPECT_GT(bytes, 4 * dim) << table.rows[m].name;
    }
  }
  EXPECT_EQ(run_study("beyond", dataset_, options_).tables[0].rows[11].fields[6].text,
            table.rows[11].fields[6].text)
      << "of a kept cell";
}

TEST_F(StudyTest, FinishedCellsAreNotRepeated) {
  const StudyResult first = run_study("tau-eps", dataset_, options_);
  ASSERT_EQ(first.evaluations.size(), 36u);
  ASSERT_EQ(first.heat_maps.size(), 1u);
  EXPECT_EQ(first.heat_maps[0].values.rows(), 6);
  const auto cells = std::distance(fs::directory_iterator(folder_ / "kept" / "cells"), {});
  EXPECT_EQ(cells, 36);
  fs::remove_all(folder_ / "features");
  const StudyResult again = run_study("tau-eps", dataset_, options_);
  EXPECT_FALSE(fs::exists(folder_ / "features")) << "a cell was computed again";
  EXPECT_EQ(again.heat_maps[0].values, first.heat_maps[0].values);
  EXPECT_EQ(again.text(), first.text());
}

TEST_F(StudyTest, ScaledFeaturesLeaveTheDescriptorWithoutRegularisation) {
  const StudyResult drift = run_study("drift", dataset_, options_);
  ASSERT_EQ(drift.tables.size(), 5u);  // brightness and rotation twice: as they are, and relative
  const StudyTable& scaled = drift.tables.back();
  const auto& bare = scaled.rows.back();
  EXPECT_THAT(bare.name, HasSubstr("no tau, no eps"));
  ASSERT_EQ(scaled.columns, (std::vector<std::string>{"0.5", "0.25", "0.1"}));
  EXPECT_EQ(*bare.fields[0].value, 0);  // a power of two changes no digit
  EXPECT_EQ(*bare.fields[1].value, 0);
  EXPECT_LT(*bare.fields[2].value, 1e-10);
  const auto& regularised = scaled.rows[scaled.rows.size() - 2];
  EXPECT_GT(*regularised.fields[2].value, 1e-10) << "eps does not scale with the features";
}

TEST_F(StudyTest, DriftIsRelativeToTheDistanceOfTwoPictures) {
  options_.pictures = 3;
  const StudyResult drift = run_study("homography", dataset_, options_);
  ASSERT_EQ(drift.tables.size(), 2u);
  ASSERT_EQ(drift.tables[0].rows[2].name, "GeM");
  // The pictures some_pictures() takes of 16, places first.
  const Recognizer recognizer("rootsift-gem", options_.method);
  std::vector<Eigen::VectorXd> rows;
  for (const auto& picture : {dataset_.database[0], dataset_.database[5], dataset_.queries[2]}) {
    rows.push_back(as_eigen(recognizer.describe(picture)).cast<double>());
  }
  const double distance =
      1 - (rows[0].dot(rows[1]) + rows[0].dot(rows[2]) + rows[1].dot(rows[2])) / 3;
  for (std::size_t c = 0; c < drift.tables[0].columns.size(); ++c) {
    const double plain = *drift.tables[0].rows[2].fields[c].value;
    EXPECT_NEAR(*drift.tables[1].rows[2].fields[c].value, plain / distance, 1e-6);
  }
}

TEST_F(StudyTest, ABadPictureIsCountedAndTheOthersAreMeasured) {
  std::ofstream(dataset_.database[0]) << "no picture";
  for (const char* name : {"drift", "ns-error", "estimators"}) {
    SCOPED_TRACE(name);
    const StudyResult result = run_study(name, dataset_, options_);
    ASSERT_EQ(result.failures.size(), 1u);
    EXPECT_EQ(result.failures[0].file, dataset_.database[0].string());
    EXPECT_THAT(to_json(result), HasSubstr(dataset_.database[0].filename().string()));
  }
  for (const auto& picture : dataset_.database) std::ofstream(picture) << "no picture";
  for (const auto& picture : dataset_.queries) std::ofstream(picture) << "no picture";
  EXPECT_THROW(run_study("drift", dataset_, options_), std::runtime_error);
}

TEST_F(StudyTest, OtherWeightsOrPicturesMakeOtherCells) {
  run_study("estimators", dataset_, options_);
  const auto cells = [&] {
    return std::distance(fs::directory_iterator(folder_ / "kept" / "cells"), {});
  };
  EXPECT_EQ(cells(), 4);
  const auto changed = fs::last_write_time(dataset_.queries[0]) + std::chrono::seconds(5);
  fs::last_write_time(dataset_.queries[0], changed);
  run_study("estimators", dataset_, options_);
  EXPECT_EQ(cells(), 8);
}

TEST_F(StudyTest, AnInterruptedMeasurementGoesOn) {
  std::stop_source stop;
  RunOptions run;
  run.num_threads = 1;
  run.stop = stop.get_token();
  run.progress = [&](int done, int) {
    if (done == 3) stop.request_stop();
  };
  std::vector<int> measured;
  const auto measure = [&](int i) {
    measured.push_back(i);
    return std::vector<float>{static_cast<float>(i)};
  };
  EXPECT_THROW(measure_pictures(dataset_.queries, "test", 1, run, measure), Interrupted);
  EXPECT_EQ(measured.size(), 3u);
  run.stop = {};
  run.progress = {};
  const PictureValues all = measure_pictures(dataset_.queries, "test", 1, run, measure);
  EXPECT_EQ(measured.size(), dataset_.queries.size()) << "a finished picture was measured again";
  ASSERT_EQ(all.values.size(), dataset_.queries.size());
  for (std::size_t i = 0; i < all.values.size(); ++i) EXPECT_EQ(all.values[i][0], i);
}

TEST_F(StudyTest, KeptValuesOfAnotherLengthAreMeasuredAgain) {
  std::stop_source stop;
  RunOptions run;
  run.num_threads = 1;
  run.stop = stop.get_token();
  run.progress = [&](int, int) { stop.request_stop(); };
  const auto one = [](int) { return std::vector<float>{1}; };
  const auto two = [](int) { return std::vector<float>{1, 2}; };
  EXPECT_THROW(measure_pictures(dataset_.queries, "test", 1, run, one), Interrupted);
  run.stop = {};
  run.progress = {};
  for (const auto& values : measure_pictures(dataset_.queries, "test", 2, run, two).values) {
    EXPECT_EQ(values.size(), 2u);
  }
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
