// SPDX-License-Identifier: MIT
// Sections of the page and what they are drawn with.
#include <Eigen/Dense>
#include <array>
#include <cmath>

#include "report/fixture.h"
#include "report/markup.h"
#include "report/palette.h"
#include "report/score_matrix.h"
#include "report/summary.h"
#include "report/svg.h"

namespace ria {
namespace {

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
  dataset_.database_positions[3] = std::array<double, 2>{NAN, INFINITY};
  text = page(two());
  EXPECT_FALSE(contains(text, "nan "));  // with the space: base64 may hold the letters
  EXPECT_FALSE(contains(text, "inf "));
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

TEST_F(ReportTest, ManyMethodsAreLimitedToTheBest) {
  std::vector<Evaluation> many(20, two()[1]);
  for (int i = 0; i < 20; ++i) many[i].method = fmt::format("method{}", i);
  many[17] = two()[0];
  const std::string text = page(many);
  EXPECT_EQ(count(text, "class=\"matrix\""), 6);
  EXPECT_EQ(count(text, "options, weights, seed"), 20);
  EXPECT_TRUE(contains(text, "Drawn for the 8 of 20 methods with the highest R@1."));
  EXPECT_TRUE(contains(text, "aria-label=\"scores of good"));
}

TEST_F(ReportTest, JudgedEvaluationsShowIntervalsPrecisionAndThreshold) {
  std::vector<Evaluation> evaluations = two();
  for (Evaluation& one : evaluations) {
    judge(dataset_, {1, 2, 4}, one);
    one.open_set_threshold = 0.5;
    one.seconds["search"] = 0.006;
  }
  evaluations[1].seconds["local"] = 0.6;
  evaluations[1].open_set = {0.75, 4, 3, 0.75, 0.5};
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
                           "probability 0.75",
                           ">75.0</td>",
                           "Precision of the best answers"}) {
    EXPECT_TRUE(contains(text, part)) << part;
  }
  EXPECT_EQ(count(text, "<td>0.500</td>"), 1);  // a re-ranker's scores are no cosines
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
  EXPECT_EQ(name_html("resnet50-ria:d=64,k=3"), "resnet50-ria:<wbr>d=<wbr>64,<wbr>k=<wbr>3");
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
