// SPDX-License-Identifier: MIT
// What a report or a study leaves in its folder.
#include <cmath>
#include <fstream>
#include <functional>

#include "report/export.h"
#include "report/fixture.h"

namespace ria {
namespace {

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
  const MatrixD values(2, 3, {1, 2, 3, 4, 5, NAN});
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
  for (const char* name : {"results.json", "results.csv", "table.tex"}) {
    EXPECT_TRUE(fs::is_regular_file(folder_ / "study" / name)) << name;
  }
  const std::string tex = read_text(folder_ / "study" / "table.tex");
  EXPECT_EQ(count(tex, "\\begin{tabular}"), 2);
  EXPECT_TRUE(contains(tex, "a\\_b & \\textbf{83.3}"));
  const auto lines = parse_csv(read_text(folder_ / "study" / "results.csv"));
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(
      lines[2],
      (std::vector<std::string>{"T_1", "a_b", "words, many", "long words that wrap", "", "0"}));
}

TEST_F(ReportTest, GridsAreNotComparedMethodByMethod) {
  StudyResult result = full_study();
  result.tables[0].of_paper = true;
  result.tables[0].title = "Printed";
  for (int i = 0; i < 9; ++i) {
    for (const Evaluation& one : two()) {
      result.evaluations.push_back(one);
      result.evaluations.back().method += std::to_string(i);
    }
  }
  write_study_report(folder_ / "study", result, dataset_);
  const std::string text = read_text(folder_ / "study" / "index.html");
  EXPECT_TRUE(contains(text, "All recalls of the 18 methods are in results.json"));
  EXPECT_FALSE(contains(text, "<h2>Answers</h2>"));
  // What was measured comes before what the paper printed.
  EXPECT_LT(text.find(">T_1<"), text.find(">Printed<"));
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

}  // namespace
}  // namespace ria
