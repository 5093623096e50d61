// SPDX-License-Identifier: MIT
#include "ria/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>

#include "error_message.h"
#include "report/answers.h"
#include "report/export.h"
#include "report/markup.h"
#include "report/palette.h"
#include "report/score_matrix.h"
#include "report/summary.h"
#include "report/svg.h"
#include "ria/image.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

int count_files(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// The fields of each line, as RFC 4180 reads them.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line = {""};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && text[i + 1] == '"') {
      line.back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      line.emplace_back();
    } else if (!quoted && c == '\n') {
      lines.push_back(std::exchange(line, {""}));
    } else if (quoted || c != '\r') {
      line.back() += c;
    }
  }
  return lines;
}

/// Six queries, six places, query i is place i; the fifth query's name is as nasty as names get.
class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("ria_report_test_{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "pictures");
    dataset_.name = "tiny <set>";
    for (int i = 0; i < 6; ++i) {
      dataset_.database.push_back(picture(fmt::format("d{}.jpg", i), 40 * i));
      const std::string name =
          i == 4 ? "<img src=x onerror=alert(1)>&\"'.jpg" : fmt::format("q{}.jpg", i);
      dataset_.queries.push_back(picture(name, 40 * i + 10));
      dataset_.positives.push_back({i});
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path picture(const std::string& name, int grey) {
    const fs::path file = folder_ / "pictures" / name;
    save_image(file,
               {12, 16, std::vector<std::uint8_t>(12 * 16 * 3, static_cast<std::uint8_t>(grey))});
    return file;
  }

  /// Query i's right place comes at rank ranks[i]; 0: not among the four kept.
  Evaluation evaluation(const std::string& method,
                        const std::vector<int>& ranks,
                        double seconds) const {
    Evaluation made;
    made.method = method;
    made.dataset = dataset_.name;
    made.queries = made.database = 6;
    made.dim = 64;
    made.seconds = {{"backbone", seconds - 0.25}, {"aggregate", 0.25}, {"wall", 9.0}};
    made.options = R"({"tau":1e-5})";
    made.weights_sha256 = "0123abcd";
    for (int i = 0; i < 6; ++i) {
      std::vector<Match> matches;
      for (int rank = 1, other = 1; rank <= 4; ++rank) {
        const int place = rank == ranks[i] ? i : (i + other++) % 6;
        matches.push_back({place, 1.0f - 0.1f * static_cast<float>(rank)});
      }
      made.predictions.push_back(matches);
    }
    made.recall = recall_at(made.predictions, dataset_.positives, {1, 2, 4});
    return made;
  }

  std::vector<Evaluation> two() const {
    return {evaluation("good", {1, 1, 1, 1, 1, 2}, 1.2),
            evaluation("fast", {1, 2, 3, 4, 0, 1}, 0.6)};
  }

  std::string page(const std::vector<Evaluation>& evaluations, const ReportOptions& options = {}) {
    write_report(folder_ / "report.html", dataset_, evaluations, options);
    return read_text(folder_ / "report.html");
  }

  fs::path folder_;
  Dataset dataset_;
};

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

TEST_F(ReportTest, FolderHasEveryFile) {
  write_report(folder_ / "made" / "out", dataset_, two());
  for (const char* name : {"index.html", "results.json", "results.csv", "table.tex"}) {
    EXPECT_TRUE(fs::is_regular_file(folder_ / "made" / "out" / name)) << name;
  }
  EXPECT_EQ(count_files(folder_ / "made" / "out"), 4);
  write_report(folder_ / "made" / "out", dataset_, two());  // again over the first
  EXPECT_EQ(count_files(folder_ / "made" / "out"), 4);
  EXPECT_EQ(read_text(folder_ / "made" / "out" / "results.json"), to_json(two()));
}

TEST_F(ReportTest, FileInPlaceOfAFolderIsNamed) {
  std::ofstream(folder_ / "out") << "mine";
  const std::string said = message_of([&] { write_report(folder_ / "out", dataset_, two()); });
  EXPECT_TRUE(contains(said, (folder_ / "out").string())) << said;
  EXPECT_TRUE(contains(said, "a file has this name")) << said;
  EXPECT_EQ(read_text(folder_ / "out"), "mine");
}

TEST_F(ReportTest, JudgedEvaluationsShowIntervalsPrecisionAndThreshold) {
  std::vector<Evaluation> evaluations = two();
  for (Evaluation& one : evaluations) {
    judge(dataset_, {1, 2, 4}, one);
    one.open_set_threshold = 0.5;
    one.seconds["search"] = 0.006;
  }
  evaluations[1].seconds["rerank"] = 0.6;
  const std::string text = page(evaluations);
  const Interval bounds = evaluations[0].interval.at(1);
  EXPECT_TRUE(
      contains(text, fmt::format("83.3<small>{:.1f}-{:.1f}</small>", bounds.low, bounds.high)));
  for (const char* part : {">AP</th>",
                           ">R@100P</th>",
                           ">bytes</th>",
                           ">256</td>",
                           ">search ms/query</th>",
                           ">1.00</td>",
                           ">rerank ms/query</th>",
                           ">100.00</td>",
                           "Precision of the best answers"}) {
    EXPECT_TRUE(contains(text, part)) << part;
  }
  EXPECT_EQ(count(text, "<td>0.500</td>"), 1);  // a re-ranker's scores are no cosines
}

TEST_F(ReportTest, LeadIsJudgedForAllTestsTogether) {
  Dataset dataset;
  std::vector<Evaluation> evaluations(3);
  for (int i = 0; i < 40; ++i) {
    dataset.queries.push_back(fmt::format("q{}", i));
    dataset.database.push_back(fmt::format("d{}", i));
    dataset.positives.push_back({i});
    evaluations[0].predictions.push_back({{i < 7 ? (i + 1) % 40 : i, 1.0f}});
    evaluations[1].predictions.push_back({{i, 1.0f}});
    evaluations[2].predictions.push_back({{i < 6 ? i + 1 : i, 1.0f}});
  }
  // 7 and 6 queries that only the best answers: p = 2 / 2^7 and 2 / 2^6.
  std::vector<LeadTest> tests = lead_tests(ReportView(dataset, evaluations));
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].other, 2u);
  EXPECT_NEAR(tests[0].points, 15, 1e-9);
  EXPECT_NEAR(tests[0].test.p_value, 2 / 64.0, 1e-12);
  EXPECT_TRUE(tests[0].significant);
  EXPECT_TRUE(tests[1].significant);
  // With a third at p = 2 / 2^6 the two weaker ones fail 0.05 / 2; the strongest holds 0.05 / 3.
  evaluations.push_back(evaluations[2]);
  tests = lead_tests(ReportView(dataset, evaluations));
  ASSERT_EQ(tests.size(), 3u);
  EXPECT_FALSE(tests[0].significant);
  EXPECT_FALSE(tests[1].significant);
  EXPECT_EQ(tests[2].other, 0u);
  EXPECT_TRUE(tests[2].significant);
}

TEST_F(ReportTest, MapIsDrawnWherePositionsAreKnown) {
  EXPECT_FALSE(contains(page(two()), "<h2>Map</h2>"));
  for (int i = 0; i < 6; ++i) {
    dataset_.database_positions.push_back({{0, 100.0 * i}});
    dataset_.query_positions.push_back({{2, 100.0 * i}});
  }
  std::string text = page(two());
  EXPECT_EQ(count(text, "class=\"chart map\""), 2);
  EXPECT_TRUE(contains(text, "north &rarr;"));  // higher than wide: on its side
  EXPECT_TRUE(contains(text, ">200 m</text>"));
  const auto path = [&](const std::string& look) {
    const auto at = text.find("class=\"" + look + "\" d=\"");
    return text.substr(at, text.find("/>", at) - at);
  };
  EXPECT_EQ(count(path("dot right"), "h0"), 5);
  EXPECT_EQ(count(path("cross wrong"), "m-3-3"), 1);
  EXPECT_EQ(count(path("places"), "h0"), 6);
  dataset_.query_positions[0].reset();
  dataset_.database_positions[3] = {{NAN, INFINITY}};
  text = page(two());
  EXPECT_FALSE(contains(text, "nan"));
  EXPECT_FALSE(contains(text, "inf,"));
  EXPECT_EQ(count(path("dot right"), "h0"), 3);
}

TEST_F(ReportTest, ScoreMatrixMarksHitsOthersAndMissed) {
  const std::string good = score_matrix_svg(dataset_, two()[0]);
  EXPECT_TRUE(contains(good, "viewBox=\"0 0 6 6\""));
  EXPECT_FALSE(contains(good, "\"missed\""));
  EXPECT_TRUE(contains(good, "class=\"hit l5\""));
  const std::string fast = score_matrix_svg(dataset_, two()[1]);
  EXPECT_TRUE(contains(fast, "<path class=\"missed\" d=\"M4 4.5h1\"/>"));  // query 4 has it nowhere
}

TEST_F(ReportTest, ScoreMatrixOfALargeSetIsSmall) {
  Dataset dataset;
  Evaluation evaluation;
  for (int i = 0; i < 1000; ++i) {
    dataset.queries.emplace_back("q");
    dataset.database.emplace_back("d");
    dataset.positives.push_back({i});
    evaluation.predictions.push_back({{i, 0.9f}, {999 - i, 0.5f}});
  }
  const std::string svg = score_matrix_svg(dataset, evaluation);
  EXPECT_TRUE(contains(svg, "viewBox=\"0 0 128 128\""));
  EXPECT_LT(svg.size(), 10000u);
}

TEST_F(ReportTest, CsvHasALineForEachMethod) {
  std::vector<Evaluation> evaluations = two();
  evaluations[0].method = "a \"quoted\", method\nof two lines";
  judge(dataset_, {1, 2}, evaluations[0]);
  const auto lines = parse_csv(to_csv(evaluations));
  ASSERT_EQ(lines.size(), 3u);
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines[0].size());
  const auto field = [&](int line, const std::string& name) {
    const auto at = std::find(lines[0].begin(), lines[0].end(), name) - lines[0].begin();
    return lines[line].at(at);
  };
  EXPECT_EQ(field(1, "method"), evaluations[0].method);
  EXPECT_EQ(field(2, "dataset"), "tiny <set>");
  EXPECT_EQ(field(1, "R@1"), "83.3333");
  EXPECT_NE(field(1, "R@1_low"), "");
  EXPECT_EQ(field(2, "R@1_low"), "");
  EXPECT_EQ(field(1, "R@4"), "");
  EXPECT_EQ(field(1, "bytes"), "256");
  EXPECT_EQ(field(2, "seconds_backbone"), "0.35");
}

TEST_F(ReportTest, TexEscapesAndMarksTheBest) {
  std::vector<Evaluation> evaluations = two();
  evaluations[0].method = "ria:mapping=log_euclidean 100% & {$5} #1 ~^\\<>";
  evaluations[0].recall[5] = evaluations[1].recall[5] = 100;
  const std::string tex = to_tex(evaluations);
  EXPECT_TRUE(contains(tex,
                       "ria:mapping=log\\_euclidean 100\\% \\& \\{\\$5\\} \\#1 "
                       "\\textasciitilde{}\\textasciicircum{}\\textbackslash{}\\textless{}"
                       "\\textgreater{} & \\textbf{83.3} & \\textbf{100.0} \\\\\n"))
      << tex;
  EXPECT_TRUE(contains(tex, "fast & 33.3 & \\textbf{100.0} \\\\\n")) << tex;
  EXPECT_TRUE(contains(tex, "Method & R@1 & R@5 \\\\\n\\midrule"));
}

TEST_F(ReportTest, ManyMethodsAreLimitedToTheBest) {
  std::vector<Evaluation> many(20, two()[1]);
  for (int i = 0; i < 20; ++i) many[i].method = fmt::format("method{}", i);
  many[17] = two()[0];
  const std::string text = page(many);
  EXPECT_EQ(count(text, "class=\"matrix\""), 6);
  EXPECT_EQ(count(text, "<details"), 20);
  EXPECT_TRUE(contains(text, "Drawn for the 8 of 20 methods with the highest R@1."));
  EXPECT_TRUE(contains(text, "aria-label=\"scores of good"));
}

/// A study with everything a result can hold.
StudyResult full_study() {
  StudyResult result;
  result.study = "tiny";
  result.title = "Tiny <study>";
  result.dataset = "tiny <set>";
  result.command = "ria study tiny";
  result.notes = {"know <this>"};
  StudyTable table;
  table.title = "T_1";
  table.columns = {"R@1", "words, many"};
  table.rows = {{"a_b", {{"83.3", 83.3, true}, {"long words that wrap", {}, false}}},
                {"c", {{"50.0", 50.0, false}, {"-", {}, false}}}};
  result.tables = {table, table};
  result.plots = {{"P", "x", "y", {{"a_b", {0, 1, 2}, {1, NAN, 3}, {0, 1, 2}, {2, 3, 4}}}}};
  MatrixD values(2, 3);
  values << 1, 2, 3, 4, 5, NAN;
  result.heat_maps = {{"H", "down", "across", {"r0", "r<1>"}, {"c0", "c1", "c2"}, values}};
  return result;
}

TEST_F(ReportTest, StudyPageHoldsTablesPlotsAndHeatMaps) {
  write_study_report(folder_ / "study", full_study(), dataset_);
  const std::string text = read_text(folder_ / "study" / "index.html");
  EXPECT_EQ(count(text, "<rect class=\"cell\""), 6);
  EXPECT_EQ(count(text, "<table>"), 2);
  EXPECT_EQ(count(text, "<polygon class=\"band\""), 2);
  for (const char* part : {"<title>Tiny &lt;study&gt;</title>",
                           "<td class=\"best\">83.3</td>",
                           "<td class=\"text\">long words that wrap</td>",
                           "know &lt;this&gt;",
                           ">r&lt;1&gt;</text>",
                           "a_b: 3 at 2",
                           "ria study tiny"}) {
    EXPECT_TRUE(contains(text, part)) << part;
  }
  for (const char* part : {"nan", "http:", "https:", "url(", "<script", "<h2>Recall</h2>"}) {
    EXPECT_FALSE(contains(text, part)) << part;
  }
  for (const char* name : {"results.json", "results.csv", "table_1.tex", "table_2.tex"}) {
    EXPECT_TRUE(fs::is_regular_file(folder_ / "study" / name)) << name;
  }
  EXPECT_TRUE(contains(read_text(folder_ / "study" / "table_2.tex"), "a\\_b & \\textbf{83.3}"));
  const auto lines = parse_csv(read_text(folder_ / "study" / "results.csv"));
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(
      lines[2],
      (std::vector<std::string>{"T_1", "a_b", "words, many", "long words that wrap", "", "0"}));
}

TEST_F(ReportTest, StudyWithEvaluationsComparesThem) {
  StudyResult result = full_study();
  result.tables.pop_back();
  result.evaluations = two();
  write_study_report(folder_ / "study", result, dataset_);
  const std::string text = read_text(folder_ / "study" / "index.html");
  for (const char* part : {"<h2>Recall</h2>", "Is the lead of good real?", "<h2>Answers</h2>"}) {
    EXPECT_TRUE(contains(text, part)) << part;
  }
  EXPECT_TRUE(fs::exists(folder_ / "study" / "table.tex"));
}

TEST_F(ReportTest, StudyOfWrongShapeIsRefused) {
  const auto said = [&](const std::function<void(StudyResult&)>& spoil) {
    StudyResult result = full_study();
    spoil(result);
    return message_of([&] { write_study_report(folder_ / "study", result, dataset_); });
  };
  EXPECT_EQ(said([](StudyResult& r) { r.tables[1].rows[0].fields.pop_back(); }),
            "table 'T_1', row 'a_b': 1 fields for 2 columns");
  EXPECT_EQ(said([](StudyResult& r) { r.plots[0].series[0].low.pop_back(); }),
            "plot 'P', series 'a_b': 3 x, 3 y, 2 low and 3 high values");
  EXPECT_EQ(said([](StudyResult& r) { r.heat_maps[0].rows.pop_back(); }),
            "heat map 'H': 2 x 3 values for 1 rows, 3 columns");
  EXPECT_TRUE(contains(said([&](StudyResult& r) {
                         r.evaluations = two();
                         r.evaluations[0].predictions.pop_back();
                       }),
                       "predictions for 5 queries"));
  EXPECT_FALSE(fs::exists(folder_ / "study"));
}

TEST(ChartTest, TicksAreNiceAndCoverTheData) {
  EXPECT_EQ(nice_ticks(0, 100, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(nice_ticks(91, 99, 4), (std::vector<double>{90, 92, 94, 96, 98, 100}));
  EXPECT_EQ(nice_ticks(-0.5, 0.5, 2), (std::vector<double>{-0.5, 0, 0.5}));
  const std::vector<double> ticks = nice_ticks(3, 3, 5);
  EXPECT_LE(ticks.front(), 3);
  EXPECT_GT(ticks.back(), 3);
}

TEST(ChartTest, EmptyAndSinglePointChartsHaveNoBrokenNumbers) {
  LineChart chart;
  chart.series = {{"none", {}}, {"one", {{5, 5}}}};
  for (int i = 0; i < 2; ++i) {
    const std::string svg = line_chart_svg(chart);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    chart.series.clear();
  }
}

/// CIELAB of an sRGB colour as a reader sees it; `vision` is Machado's matrix for linear RGB.
Eigen::Vector3d lab_seen(const std::string& color, const Eigen::Matrix3d& vision) {
  Eigen::Vector3d rgb;
  for (int c = 0; c < 3; ++c) {
    const double value = std::stoi(color.substr(1 + 2 * c, 2), nullptr, 16) / 255.0;
    rgb[c] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  }
  Eigen::Matrix3d to_xyz;
  to_xyz << 0.4124, 0.3576, 0.1805, 0.2126, 0.7152, 0.0722, 0.0193, 0.1192, 0.9505;
  const Eigen::Vector3d seen = (vision * rgb).cwiseMax(0).cwiseMin(1);
  const Eigen::Vector3d xyz = (to_xyz * seen).cwiseQuotient(Eigen::Vector3d(0.9505, 1, 1.089));
  const Eigen::Vector3d f =
      xyz.unaryExpr([](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; });
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

TEST(PaletteTest, ColoursStayApartForColourBlindReaders) {
  Eigen::Matrix3d protan, deutan;
  protan << 0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116,
      1.051998;
  deutan << 0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940,
      0.968881;
  for (const Eigen::Matrix3d& vision :
       {Eigen::Matrix3d(Eigen::Matrix3d::Identity()), protan, deutan}) {
    for (const auto& colors : {kLightColors, kDarkColors}) {
      for (std::size_t i = 0; i < colors.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double distance =
              (lab_seen(colors[i], vision) - lab_seen(colors[j], vision)).norm();
          EXPECT_GT(distance, 20) << colors[i] << " " << colors[j];
        }
      }
    }
  }
}

TEST(PaletteTest, AMethodLooksTheSameInEveryPlot) {
  SeriesStyles styles;
  EXPECT_EQ(styles.of("a"), 0u);
  EXPECT_EQ(styles.of("b"), 1u);
  EXPECT_EQ(styles.of("a"), 0u);
}

TEST(MarkupTest, LongNamesWrapAndVeryLongOnesAreShortened) {
  EXPECT_EQ(name_html("resnet50-ria:d=64,k=3"), "resnet50-ria:<wbr>d=64,<wbr>k=3");
  EXPECT_EQ(name_html("a<b>:"), "a&lt;b&gt;:");
  const std::string name = std::string(43, 'x') + "\u00e9" + std::string(60, 'y');
  const std::string html = name_html(name);
  EXPECT_TRUE(contains(html, "title=\"" + name + "\""));
  EXPECT_TRUE(contains(html, std::string(43, 'x') + "\u00e9&hellip;"))
      << html;  // no half character
}

TEST(MarkupTest, Base64OfRfc4648) {
  const auto encode = [](const std::string& text) {
    return base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg==");
  EXPECT_EQ(encode("fo"), "Zm8=");
  EXPECT_EQ(encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encode("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace ria
