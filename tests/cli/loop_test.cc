// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

const Args kMethod = {"--method", "rootsift-ria:d=16,longest_side=96", "--recent", "5"};

class LoopCommand : public CliTest {
 protected:
  /// Twelve places, and the first eight again, as files in driving order.
  void SetUp() override {
    CliTest::SetUp();
    fs::create_directories(folder_ / "drive");
    json truth{{"images", json::array()}, {"loops", json::array()}};
    for (int i = 0; i < 20; ++i) {
      const bool again = i >= 12;
      const double north = 12.0 * (again ? i - 12 : i) + (again ? 0.3 : 0);
      const std::string name = fmt::format("{}.png", i);
      save_image(folder_ / "drive" / name,
                 render_street({1.75, north}, Condition::kDay, 120, 160, 7));
      truth["images"].push_back(name);
      truth["loops"].push_back(again ? json::array({i - 12}) : json::array());
    }
    write_text(folder_ / "loops.json", truth.dump());
  }
};

TEST_F(LoopCommand, FindsLoopsMeasuresAndDraws) {
  const std::string out = works(Args{"loop",
                                     "drive",
                                     "--truth",
                                     "loops.json",
                                     "--json",
                                     "r.json",
                                     "--report",
                                     "page",
                                     "--g2o",
                                     "graph.g2o"} +
                                kMethod);
  EXPECT_NE(out.find("20 pictures"), std::string::npos) << out;
  const json result = json::parse(read_text(folder_ / "r.json"));
  for (const char* key : {"max_recall_at_full_precision",
                          "recall_at_99_precision",
                          "average_precision",
                          "precision",
                          "recall",
                          "ms_per_frame"}) {
    EXPECT_TRUE(result.at(key).is_number()) << key;
  }
  EXPECT_EQ(result["to_find"], 8);
  EXPECT_EQ(result["results"].size(), 20u);
  EXPECT_GT(result["average_precision"], 0.7);
  EXPECT_EQ(result["results"][0]["reason"], "too_recent");
  EXPECT_NE(read_text(folder_ / "page/index.html").find("Reliability"), std::string::npos);
  EXPECT_NE(read_text(folder_ / "graph.g2o").find("VERTEX_SE3:QUAT 0 "), std::string::npos);
}

TEST_F(LoopCommand, GoesOnBehindTheLastPictureOfTheMap) {
  const Args command = Args{"loop", "drive", "--map", "m.ria", "--json", "-"} + kMethod;
  fs::create_directories(folder_ / "later");
  for (int i = 13; i < 20; ++i) {
    fs::rename(folder_ / "drive" / fmt::format("{}.png", i),
               folder_ / "later" / fmt::format("{}.png", i));
  }
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines(works(command)), 13);
  for (const auto& file : fs::directory_iterator(folder_ / "later")) {
    fs::rename(file.path(), folder_ / "drive" / file.path().filename());
  }
  const Result rest = ria(command);
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.err.find("goes on behind 12.png"), std::string::npos) << rest.err;
  EXPECT_EQ(lines(rest.out), 7);
  EXPECT_EQ(json::parse(rest.out.substr(0, rest.out.find('\n')))["frame"], "13.png");
  EXPECT_EQ(lines(ria(command).out), 0);  // nothing is left
}

TEST_F(LoopCommand, RefusesWhatIsWrong) {
  write_text(folder_ / "bad.json", "{}");
  write_text(folder_ / "list.txt", "1 drive/0.png\ntwo drive/1.png\n");
  const std::vector<std::pair<Args, std::string>> wrong = {
      {{"loop", "none"}, "none"},
      {{"loop", "drive", "--truth", "bad.json"}, "images and loops"},
      {{"loop", "drive", "--recent", "0"}, "recent is 0"},
      {{"loop", "drive", "--decision", "2"}, "decision is 2"},
      {{"loop", "drive", "--truth_tolerance", "-1"}, "truth_tolerance is -1"},
      {{"loop", "drive", "--max_places", "3"}, "max_places is 3"},
      {{"loop", "list.txt"}, "'two' is no number"},
  };
  for (const auto& [args, part] : wrong) {
    Args all = args + Args{"--method", "rootsift-ria:d=16"};
    const Result result = ria(all);
    EXPECT_NE(result.exit_code, 0) << part;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
}

TEST_F(LoopCommand, CountsBrokenPictures) {
  write_text(folder_ / "drive/3.png", "no picture");
  const Result result = ria(Args{"loop", "drive", "--csv"} + kMethod);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find("1 of 20 pictures were skipped"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 20);
}

}  // namespace
}  // namespace ria::cli_test
