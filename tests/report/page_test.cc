// SPDX-License-Identifier: MIT
#include <fstream>

#include "report/answers.h"
#include "report/fixture.h"
#include "ria/report.h"

namespace ria {
namespace {

TEST_F(ReportTest, TableMarksTheBestOfEachColumn) {
  EXPECT_EQ(comparison_table(two()),
            "method  dim    R@1     R@2     R@4   ms/picture\n"
            "good     64   83.3*  100.0*  100.0*       100.0\n"
            "fast     64   33.3    50.0    83.3         50.0*\n");
}

TEST_F(ReportTest, TableMarksTiesAndLeavesASingleMethodAlone) {
  std::vector<Evaluation> same = {two()[0], two()[0]};
  EXPECT_EQ(count(comparison_table(same), "83.3*"), 2);
  same.pop_back();
  EXPECT_EQ(count(comparison_table(same), "*"), 0);
  same[0].recall.clear();
  same[0].seconds.clear();
  EXPECT_EQ(comparison_table(same), "method  dim\ngood     64\n");
}

TEST_F(ReportTest, PageRefersToNothingOutside) {
  const std::string text = page(two());
  EXPECT_EQ(text.find("http:"), std::string::npos);
  EXPECT_EQ(text.find("https:"), std::string::npos);
  EXPECT_EQ(text.find("@import"), std::string::npos);
  EXPECT_EQ(text.find("url("), std::string::npos);
  EXPECT_EQ(text.find("<script"), std::string::npos);
  const int references = count(text, " href=\"") + count(text, " src=\"");
  EXPECT_EQ(references, count(text, " href=\"#p") + count(text, " href=\"data:image/jpeg;base64,"));
}

TEST_F(ReportTest, TextFromOutsideIsEscaped) {
  std::vector<Evaluation> evaluations = two();
  evaluations[0].method = "<b>good</b>";
  evaluations[0].options = R"({"note": "</pre><script>"})";
  evaluations[0].failures = {{0, "a<b>.jpg", "cut & short"}};
  ReportOptions options;
  options.title = "</title><script>";
  options.command = "ria evaluate --queries 'a<b>'";
  const std::string text = page(evaluations, options);
  EXPECT_EQ(text.find("<img"), std::string::npos);
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find("<b>good"), std::string::npos);
  for (const char* part : {"&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;.jpg",
                           "tiny &lt;set&gt;",
                           "a&lt;b&gt;.jpg</code>: cut &amp; short",
                           "&lt;/pre&gt;&lt;script&gt;",
                           "--queries &#39;a&lt;b&gt;&#39;"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST_F(ReportTest, FramesAreRightForRightAndWrongAnswers) {
  const std::vector<Evaluation> evaluations = two();
  const std::string text = page(evaluations);  // all six queries, three answers each
  int right = 0, answers = 0, right_rows = 0;
  for (const Evaluation& one : evaluations) {
    for (int query = 0; query < 6; ++query) {
      right_rows += one.predictions[query][0].place == query;
      for (int i = 0; i < 3; ++i, ++answers) right += one.predictions[query][i].place == query;
    }
  }
  EXPECT_EQ(right, 10);
  EXPECT_EQ(count(text, "<figure class=\"answer right\">"), right);
  EXPECT_EQ(count(text, "<figure class=\"answer wrong\">"), answers - right);
  EXPECT_EQ(count(text, "<b>&#10003; right</b>"), right);
  EXPECT_EQ(count(text, "<b>&#10007; wrong</b>"), answers - right);
  EXPECT_EQ(count(text, "class=\"row row-right\""), right_rows);
  EXPECT_EQ(count(text, "class=\"row row-wrong\""), 12 - right_rows);
  EXPECT_EQ(count(text, "class=\"query all-right\""), 1);
  EXPECT_NE(text.find("Wrong only (5)"), std::string::npos);
  EXPECT_NE(text.find("wrong: right place is no. 4"), std::string::npos);
  EXPECT_NE(text.find("wrong: right place not in first 4"), std::string::npos);
}

TEST_F(ReportTest, EachPictureIsStoredOnce) {
  const std::string text = page(two());
  EXPECT_EQ(count(text, "data:image/jpeg"), 12);
  EXPECT_EQ(count(text, "<use href="), 6 + 2 * 6 * 3);
}

TEST_F(ReportTest, UnreadablePictureHasAPlaceholder) {
  std::ofstream(dataset_.queries[2]) << "no picture";
  fs::remove(dataset_.database[3]);
  const std::string text = page(two());
  EXPECT_EQ(count(text, "data:image/jpeg"), 10);
  EXPECT_EQ(count(text, "query 2, cannot be read"), 1);
  EXPECT_NE(text.find(">q2.jpg</span>"), std::string::npos);
  EXPECT_EQ(count(text, "answer, cannot be read"), count(text, ">d3.jpg</span>"));
}

TEST_F(ReportTest, CurvePointsAreRecallAtK) {
  const std::vector<Evaluation> evaluations = two();
  const std::string text = page(evaluations);
  int points = 0;
  for (const Evaluation& one : evaluations) {
    for (const auto& [k, percent] : recall_at(one.predictions, dataset_.positives, {1, 2, 3, 4})) {
      const auto tip = fmt::format("<title>{}: {:.1f} at {}</title>", one.method, percent, k);
      EXPECT_EQ(count(text, tip), 2) << tip;  // drawn for a desktop and for a phone
      points += 2;
    }
  }
  EXPECT_EQ(count(text, "</title></path>"), points);  // and nothing past the predictions kept
}

TEST_F(ReportTest, SaysWhoLeadsAndHowItWasMade) {
  ReportOptions options;
  options.command = "ria evaluate --method good,fast";
  const std::string text = page(two(), options);
  EXPECT_NE(text.find("<b>good</b> finds the right place first for 83.3% of 6 queries (R@1), "
                      "50.0 points ahead of <b>fast</b>, which may be chance: not significant."),
            std::string::npos);
  EXPECT_NE(text.find("<td class=\"best\">83.3</td>"), std::string::npos);
  for (const char* part :
       {"ria evaluate --method good,fast", "0123abcd", "<code>42</code>", "&quot;tau&quot;"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_NE(page({two()[0], two()[0]}).find("level with <b>good</b>"), std::string::npos);
}

TEST_F(ReportTest, QueriesWithoutAnswerOrPositivesAreShown) {
  std::vector<Evaluation> evaluations = two();
  evaluations[0].predictions[0].clear();
  dataset_.positives[1].clear();
  const std::string text = page(evaluations);
  EXPECT_EQ(count(text, "no answer"), 1);
  EXPECT_EQ(count(text, "wrong: place not in database"), 2);
}

TEST_F(ReportTest, RareFailuresAreChosen) {
  Dataset dataset;
  dataset.queries.resize(100);
  dataset.database.resize(100);
  Evaluation strong, weak;
  for (int i = 0; i < 100; ++i) {
    dataset.positives.push_back({i});
    strong.predictions.push_back({{i == 37 ? 0 : i, 1.0f}});
    weak.predictions.push_back({{i == 61 ? i : (i + 1) % 100, 1.0f}});
  }
  const std::vector<int> chosen = choose_queries(dataset, {strong, weak}, 12);
  EXPECT_EQ(chosen.size(), 12u);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), 37), 1);
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), 61), 1);
  EXPECT_EQ(chosen, choose_queries(dataset, {strong, weak}, 12));
  EXPECT_EQ(choose_queries(dataset, {strong}, 1000).size(), 100u);
  EXPECT_TRUE(choose_queries(dataset, {strong}, 0).empty());
}

TEST_F(ReportTest, UnwritableFolderThrowsAndLeavesNothing) {
  const int before = count_files(folder_);
  const fs::path file = folder_ / "missing" / "report.html";
  try {
    write_report(file, dataset_, two());
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(file.string()), std::string::npos) << error.what();
  }
  EXPECT_EQ(count_files(folder_), before);
}

TEST_F(ReportTest, EvaluationsOfAnotherDatasetAreRefused) {
  EXPECT_THROW(page({}), std::invalid_argument);
  std::vector<Evaluation> evaluations = two();
  evaluations[0].predictions[0][0].place = 6;
  EXPECT_THROW(page(evaluations), std::invalid_argument);
  evaluations = two();
  evaluations[1].predictions.pop_back();
  EXPECT_THROW(page(evaluations), std::invalid_argument);
  EXPECT_FALSE(fs::exists(folder_ / "report.html"));
}

}  // namespace
}  // namespace ria
