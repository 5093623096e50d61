// SPDX-License-Identifier: MIT
// What the paper printed, and when it may stand beside what was measured.
#include "study/paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ria {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Attainable, EveryNumberOfRightAnswersIsAndNothingBetween) {
  for (const int queries : {71, 118, 200, 6816}) {
    for (const int decimals : {1, 2}) {
      const double unit = std::pow(10, -decimals);
      for (int right = 0; right <= queries; ++right) {
        const double printed = std::round(100.0 * right / queries / unit) * unit;
        EXPECT_TRUE(attainable(printed, queries, decimals)) << right << " of " << queries;
      }
    }
  }
  EXPECT_FALSE(attainable(66.7, 118, 1));  // 66.10 and 66.95 are its neighbours
  EXPECT_TRUE(attainable(34.8, 118, 1));   // 34.746, 34.75, 34.8
  EXPECT_FALSE(attainable(98.2, 200, 1));
  EXPECT_FALSE(attainable(82.4, 71, 1));
  EXPECT_TRUE(attainable(90.14, 71, 2));
}

/// The tables that are of single runs: a figure mistyped here would hardly be attainable.
TEST(PaperTables, FiguresOfSingleRunsAreAttainable) {
  for (const PaperTable* table :
       {&paper_seeds(), &paper_projection(), &paper_estimators(), &paper_backbones()}) {
    SCOPED_TRACE(table->label);
    for (const PaperTable::Row& row : table->rows) {
      ASSERT_EQ(row.values.size(), table->columns.size()) << row.name;
      for (std::size_t c = 0; c < row.values.size(); ++c) {
        const PaperTable::Column& column = table->columns[c];
        const int queries = find_dataset(column.dataset).parts.front().queries;
        EXPECT_TRUE(attainable(row.values[c], queries, column.decimals))
            << row.name << ", " << column.dataset << ": " << row.values[c] << " of " << queries;
      }
    }
  }
}

TEST(PaperTables, SeedsHaveThePrintedMeans) {
  const PaperTable& seeds = paper_seeds();
  const double means[] = {64.04, 86.01, 96.75, 48.81, 30.40};
  for (std::size_t c = 0; c < seeds.columns.size(); ++c) {
    double sum = 0;
    for (const PaperTable::Row& row : seeds.rows) sum += row.values[c];
    EXPECT_NEAR(
        sum / static_cast<double>(seeds.rows.size()), means[c], 0.0101);  // both are rounded
  }
}

StudyResult measured_geometry() {
  StudyResult result;
  StudyTable table{"ours", {"R@1"}, {}, ""};
  table.rows = {{"1st order: mean", {{"1.0", 1.0, false}}},
                {"Newton-Schulz root (RIA)", {{"2.0", 2.0, false}}}};
  result.tables.push_back(table);
  return result;
}

TEST(BesideThePaper, FiguresStandThereForItsDatasetAndNetwork) {
  StudyResult result = measured_geometry();
  StudyOptions options;
  options.backbone = "dinov2-vitg14";
  Dataset dataset;
  dataset.name = "nardo_air";
  set_beside_paper(paper_geometry(), dataset, options, result);
  ASSERT_EQ(result.tables.size(), 2u);
  EXPECT_THAT(result.tables[0].columns, ElementsAre("R@1", "paper R@1"));
  EXPECT_EQ(result.tables[0].rows[0].fields[1].text, "-");  // the paper has no such row
  EXPECT_EQ(result.tables[0].rows[1].fields[1].text, "76.1");
  EXPECT_THAT(result.notes, Contains(HasSubstr("nardo_air is a dataset of the paper's table 4")));
}

TEST(BesideThePaper, OtherSettingsAreSaidAndNotCompared) {
  for (const auto& [name, backbone] :
       {std::pair{"nardo_air", "resnet50"}, std::pair{"gardens_point", "dinov2-vitg14"}}) {
    StudyResult result = measured_geometry();
    StudyOptions options;
    options.backbone = backbone;
    Dataset dataset;
    dataset.name = name;
    set_beside_paper(paper_geometry(), dataset, options, result);
    EXPECT_THAT(result.tables[0].columns, ElementsAre("R@1"));
    EXPECT_THAT(result.notes, Contains(HasSubstr("Not the paper's setting")));
    EXPECT_EQ(result.tables[1].title, "The paper's table 4");
  }
}

TEST(BesideThePaper, ImpossibleFiguresAreMarked) {
  StudyResult result = measured_geometry();
  Dataset dataset;
  dataset.name = "other";
  set_beside_paper(paper_stabilisation(), dataset, {}, result);
  const StudyTable& paper = result.tables[1];
  EXPECT_EQ(paper.rows[0].fields[1].text, "82.4†");
  EXPECT_EQ(paper.rows.back().fields[1].text, "84.5");  // 60 of 71
  EXPECT_THAT(paper.caption, HasSubstr("no whole number"));
  EXPECT_THAT(paper.rows[0].fields[0].text, Not(HasSubstr("†")));  // 6816 queries: any figure
}

}  // namespace
}  // namespace ria
