// SPDX-License-Identifier: MIT
// `ria study` and `ria eval --report` as a user meets them.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CliStudyTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    works({"simulate", "street", "--places", "6", "--width", "160", "--height", "120"});
  }

  const Args street_ = {
      "--database_folder", "street/database", "--queries_folder", "street/queries"};
  const Args rootsift_ = {"--backbone", "rootsift"};
};

TEST_F(CliStudyTest, ListNamesEveryStudy) {
  const std::string text = works({"study", "list"});
  const json list = json::parse(works({"study", "list", "--json", "-"}));
  ASSERT_EQ(list.size(), studies().size());
  for (const StudyInfo& study : studies()) EXPECT_THAT(text, HasSubstr(study.name));
}

TEST_F(CliStudyTest, ReportHoldsPageAndFiles) {
  const std::string text =
      works(Args{"study", "estimators", "--report", "out"} + street_ + rootsift_);
  EXPECT_THAT(text, HasSubstr("Not the paper's setting"));
  EXPECT_THAT(text, HasSubstr("report: out/index.html"));
  const json results = json::parse(read_text(folder_ / "out" / "results.json"));
  EXPECT_EQ(results["evaluations"].size(), 4u);
  EXPECT_THAT(results["command"].get<std::string>(),
              HasSubstr("ria study estimators --report out"));
  for (const char* name : {"index.html", "results.csv", "table.tex"}) {
    EXPECT_TRUE(fs::is_regular_file(folder_ / "out" / name)) << name;
  }
  // Once more: the same text, and nothing is described again.
  const Result again = ria(Args{"study", "estimators", "--report", "out"} + street_ + rootsift_);
  EXPECT_EQ(again.out, text);
  EXPECT_EQ(again.err, "");
}

TEST_F(CliStudyTest, WrongInputIsToldBeforeAnyWork) {
  const Args study = Args{"study", "projection"} + street_ + rootsift_;
  spill(folder_ / "file", "no folder");
  refused(2, Args{"study", "nonsense"} + street_, {"unknown study 'nonsense'", "tau-eps"});
  refused(2, {"study", "geometry"}, {"--dataset"});
  refused(2, study + Args{"--pictures", "0"}, {"pictures is 0"});
  refused(2,
          Args{"study", "drift", "--backbone", "nonsense"} + street_,
          {"nonsense", "'ria methods' lists all"});
  refused(1, study + Args{"--other_pictures", "nowhere"}, {"nowhere"});
  refused(1, study + Args{"--report", "file"}, {"file"});
  refused(1, study + Args{"--report", "file/below"}, {"file/below", "is a file"});
  refused(1, Args{"eval", "--report", "file/below"} + street_ + kFast, {"file/below"});
}

TEST_F(CliStudyTest, ABadPictureIsReportedAndCounted) {
  spill(folder_ / "street" / "queries" / "@7@8@bad.jpg", "no picture");
  const Result result = ria(Args{"study", "estimators"} + street_ + rootsift_);
  EXPECT_EQ(result.exit_code, 0);
  const auto said = complaints(result.err);
  ASSERT_EQ(said.size(), 2u) << result.err;
  EXPECT_THAT(said[0], HasSubstr("@7@8@bad.jpg"));
  EXPECT_EQ(said[1], "ria: 1 of 13 pictures were skipped");
}

}  // namespace
}  // namespace ria::cli_test
