// SPDX-License-Identifier: MIT
// What `ria eval` leaves in logs/, and the flags of VPR-methods-evaluation.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

class PredictionsTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    works({"simulate", "street", "--places", "5", "--width", "160", "--height", "120"});
  }

  /// Two queries of four places: the first has another place as its only right answer.
  Args wrong_and_right() const {
    pictures();
    const json truth = {
        {"database", {"pictures/p000.png", "pictures/p001.png", "pictures/p002.png"}},
        {"queries", {"pictures/p000.png", "pictures/p001.png"}},
        {"positives", std::vector<std::vector<int>>{{1, 2}, {1}}}};
    spill(folder_ / "gt.json", truth.dump());
    return Args{"eval", "--dataset", "gt.json"} + kFast;
  }

  /// The folders of the runs below logs/<log_dir>.
  std::vector<fs::path> runs(const std::string& log_dir) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_ / "logs" / log_dir)) {
      found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  fs::path only_run(const std::string& log_dir) const {
    const auto found = runs(log_dir);
    EXPECT_EQ(found.size(), 1u);
    return found.at(0);
  }

  static std::vector<std::string> names(const fs::path& folder) {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }

  static bool has_line(const fs::path& log, const std::string& end) {
    const auto all = lines(read_text(log));
    return std::any_of(
        all.begin(), all.end(), [&](const auto& line) { return line.ends_with(end); });
  }

  const Args eval_ =
      Args{"eval", "--database_folder", "street/database", "--queries_folder", "street/queries"};
};

/// The colour in the middle of a tile's upper rim, where the frame is.
std::array<int, 3> rim(const Image& sheet, int tile) {
  const int row = 100 + (512 - 384) / 2 + 10, column = tile * 562 + 256;  // pictures are 4:3
  const std::size_t at = (static_cast<std::size_t>(row) * sheet.width + column) * 3;
  return {sheet.rgb[at], sheet.rgb[at + 1], sheet.rgb[at + 2]};
}

bool is_green(const std::array<int, 3>& c) { return c[0] < 40 && c[1] > 215 && c[2] < 40; }
bool is_red(const std::array<int, 3>& c) { return c[0] > 215 && c[1] < 40 && c[2] < 40; }

TEST_F(PredictionsTest, NothingIsWrittenUnasked) {
  const auto before = contents();
  works(eval_ + kFast + Args{"--num_workers", "1", "--batch_size", "8", "--device", "cpu"});
  EXPECT_EQ(contents(), before);
}

TEST_F(PredictionsTest, EverythingIsSaved) {
  const auto said = lines(works(
      eval_ + kFast + Args{"--log_dir", "mine", "--num_preds_to_save", "3", "--save_descriptors"}));
  const fs::path run = only_run("mine");
  EXPECT_TRUE(testing::internal::RE::FullMatch(
      run.filename().string(),
      "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]_[0-9][0-9]-[0-9][0-9]-[0-9][0-9]"))
      << run;
  EXPECT_EQ(said.back(), "saved: logs/mine/" + run.filename().string());
  EXPECT_EQ(names(run),
            (std::vector<std::string>{"database_descriptors.npy",
                                      "debug.log",
                                      "info.log",
                                      "preds",
                                      "queries_descriptors.npy"}));
  EXPECT_EQ(names(run / "preds"),
            (std::vector<std::string>{"000.jpg",
                                      "000.txt",
                                      "001.jpg",
                                      "001.txt",
                                      "002.jpg",
                                      "002.txt",
                                      "003.jpg",
                                      "003.txt",
                                      "004.jpg",
                                      "004.txt"}));
  const std::string recall = said[1].substr(std::string("rootsift-gem: ").size());
  for (const char* log : {"info.log", "debug.log"}) {
    EXPECT_TRUE(has_line(run / log, recall)) << read_text(run / log);
    EXPECT_TRUE(has_line(run / log, "Testing on < #queries: 5; #database: 5 >"));
    EXPECT_TRUE(has_line(run / log,
                         "Testing with rootsift-gem with a rootsift backbone and descriptors "
                         "dimension 128"));
  }
  works(Args{"describe", "street/database", "--out", "places.npy"} + kFast);
  EXPECT_EQ(read_rows(run / "database_descriptors.npy"), read_rows(folder_ / "places.npy"));
  EXPECT_EQ(read_rows(run / "queries_descriptors.npy").rows(), 5);
}

TEST_F(PredictionsTest, TextAndColoursTellRightFromWrong) {
  works(wrong_and_right() + Args{"--num_preds_to_save", "2"});
  const fs::path preds = only_run("default") / "preds";
  const auto all = lines(read_text(preds / "000.txt"));
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(all[0], "Query path:");
  EXPECT_TRUE(all[1].ends_with("pictures/p000.png")) << all[1];
  EXPECT_EQ(all[2], "");
  EXPECT_EQ(all[3], "Predictions paths:");
  EXPECT_TRUE(all[4].ends_with("pictures/p000.png")) << all[4];
  EXPECT_EQ(all[6], "");
  EXPECT_EQ(all[7], "Positives paths:");
  EXPECT_TRUE(all[8].ends_with("pictures/p001.png")) << all[8];
  EXPECT_TRUE(all[9].ends_with("pictures/p002.png")) << all[9];
  const Image wrong = load_image(preds / "000.jpg");
  EXPECT_EQ(wrong.width, 3 * 512 + 2 * 50);
  EXPECT_FALSE(is_red(rim(wrong, 0)) || is_green(rim(wrong, 0)));  // the query has no frame
  EXPECT_TRUE(is_red(rim(wrong, 1)));
  EXPECT_TRUE(is_green(rim(wrong, 2)));
  const Image right = load_image(preds / "001.jpg");
  EXPECT_TRUE(is_green(rim(right, 1)));
  EXPECT_TRUE(is_red(rim(right, 2)));
}

TEST_F(PredictionsTest, OnlyWrongOnes) {
  works(wrong_and_right() + Args{"--num_preds_to_save", "9", "--save_only_wrong_preds"});
  const fs::path preds = only_run("default") / "preds";
  EXPECT_EQ(names(preds), (std::vector<std::string>{"000.jpg", "000.txt"}));
  EXPECT_EQ(load_image(preds / "000.jpg").width, 4 * 512 + 3 * 50);  // there are three places
}

TEST_F(PredictionsTest, PlainFoldersWithoutLabels) {
  pictures("known", 4);
  pictures("asked", 2);
  spill(folder_ / "asked" / "p001.png", "no picture");
  const Result result = ria(Args{"eval",
                                 "--database_folder",
                                 "known",
                                 "--queries_folder",
                                 "asked",
                                 "--no_labels",
                                 "--num_preds_to_save",
                                 "1",
                                 "--json",
                                 "x.json"} +
                            kFast);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.find("R@"), result.out.npos) << result.out;
  const fs::path run = only_run("default");
  EXPECT_EQ(read_text(run / "preds" / "000.txt"),
            "Query path:\nasked/p000.png\n\nPredictions paths:\nknown/p000.png\n");
  EXPECT_EQ(read_text(run / "preds" / "001.txt"),
            "Query path:\nasked/p001.png\n\nPredictions paths:\n\n");
  const Image sheet = load_image(run / "preds" / "000.jpg");
  EXPECT_FALSE(is_red(rim(sheet, 1)) || is_green(rim(sheet, 1)));
  EXPECT_EQ(load_image(run / "preds" / "001.jpg").width, 512);
  EXPECT_EQ(read_text(run / "info.log").find("R@"), std::string::npos);
  EXPECT_NE(read_text(run / "info.log").find("Skipped: cannot read asked/p001.png"),
            std::string::npos);
  const json results = json::parse(read_text(folder_ / "x.json"));
  EXPECT_EQ(results[0]["recall"], json::object());
  EXPECT_FALSE(results[0].contains("average_precision"));
}

TEST_F(PredictionsTest, SeveralMethodsAndRunsHaveFoldersOfTheirOwn) {
  const Args two = {"--method", "rootsift-gem", "--method", "rootsift-ria:d=8", "--log_dir", "two"};
  works(eval_ + two + Args{"--save_descriptors"});
  EXPECT_EQ(names(folder_ / "logs" / "two"),
            (std::vector<std::string>{"rootsift-gem", "rootsift-ria:d=8"}));
  EXPECT_EQ(read_rows(only_run("two/rootsift-ria:d=8") / "queries_descriptors.npy").cols(), 36);
  works(eval_ + kFast + Args{"--log_dir", "again"});
  works(eval_ + kFast + Args{"--log_dir", "again"});
  EXPECT_EQ(runs("again").size(), 2u);  // also within one second
}

TEST_F(PredictionsTest, WhatCannotBeIsRefused) {
  refused(2, eval_ + kFast + Args{"--device", "cuda"}, {"--device cuda", "cpu"});
  refused(2, eval_ + kFast + Args{"--num_preds_to_save", "-1"}, {"--num_preds_to_save", "-1"});
  refused(2, eval_ + kFast + Args{"--num_preds_to_save", "101"}, {"--num_preds_to_save", "100"});
  refused(2, eval_ + kFast + Args{"--num_preds_to_save", "many"}, {"--num_preds_to_save"});
  refused(2, eval_ + kFast + Args{"--save_only_wrong_preds"}, {"--num_preds_to_save"});
  refused(
      2,
      eval_ + kFast + Args{"--num_preds_to_save", "1", "--save_only_wrong_preds", "--no_labels"},
      {"--save_only_wrong_preds", "--no_labels"});
  refused(2, eval_ + kFast + Args{"--log_dir", ""}, {"--log_dir"});
  refused(2, eval_ + kFast + Args{"--num_workers", "2", "--num_threads", "2"}, {"--num_workers"});
  refused(2, eval_ + kFast + Args{"--num_workers", "-1"}, {"-1"});
  spill(folder_ / "logs", "a file");
  refused(1, eval_ + kFast + Args{"--log_dir", "x"}, {"logs/x"});
}

TEST_F(PredictionsTest, NothingHalfWrittenStays) {
  at_.file_size_limit = 8192;  // the sheets are larger
  refused(1, eval_ + kFast + Args{"--num_preds_to_save", "2"}, {".jpg"});
  refused(1,
          eval_ + Args{"--method", "rootsift-ria", "--longest_side", "64", "--save_descriptors"},
          {"_descriptors.npy"});
  refused(
      1,
      eval_ + Args{"--method", "rootsift-gem", "--method", "rootsift-ria", "--save_descriptors"},
      {"_descriptors.npy"});
  at_.file_size_limit = RLIM_INFINITY;
  for (const auto& entry : fs::directory_iterator(folder_ / "street" / "queries")) {
    spill(entry.path(), "no picture");
  }
  for (const auto& entry : fs::directory_iterator(folder_ / "street" / "database")) {
    spill(entry.path(), "no picture");
  }
  refused(1, eval_ + kFast + Args{"--num_preds_to_save", "2"}, {"none of"});
}

}  // namespace
}  // namespace ria::cli_test
