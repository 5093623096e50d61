// SPDX-License-Identifier: MIT
// Every form in which datasets are published, at its published size where that is small.
#include <cmath>
#include <random>

#include "dataset/fixture.h"
#include "dataset/natural_order.h"
#include "support/error_message.h"

namespace ria::dataset_test {
namespace {

TEST(NaturalOrder, CountsNumbersAndComparesTextPieceByPiece) {
  const std::vector<std::string> ordered{
      "", "1", "2", "007", "10", "a", "a-1", "a1", "a1.jpg", "a01b", "a2", "a10", "ab1", "b"};
  // "a" ends before the text "a-" does; a number makes a name longer.
  const std::vector<std::string> expected{
      "", "1", "2", "007", "10", "a", "a1", "a1.jpg", "a01b", "a2", "a10", "a-1", "ab1", "b"};
  std::vector<std::string> sorted = ordered;
  std::mt19937 engine(3);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(sorted.begin(), sorted.end(), engine);
    std::sort(sorted.begin(), sorted.end(), natural_less);
    EXPECT_EQ(sorted, expected);
  }
  EXPECT_TRUE(natural_less("a01", "a1"));
  EXPECT_FALSE(natural_less("a1", "a01"));
  EXPECT_FALSE(natural_less("a1", "a1"));
  EXPECT_TRUE(natural_less("9" + std::string(40, '0'), "1" + std::string(41, '0')));
}

using Forms = DatasetTest;

TEST_F(Forms, SeventeenPlacesRunsOverItsEndAndIsClipped) {
  sequence("17places/ref", 406);
  sequence("17places/query", 406);
  write("17places/ground_truth_new.npy", npy_lists(frames(406, 406, 5, true), true));
  for (const fs::path& folder : {folder_, folder_ / "17places"}) {
    const Dataset d = load_dataset("17places", folder);
    EXPECT_EQ(d.name, "17places");
    ASSERT_EQ(d.database.size(), 406u);
    EXPECT_EQ(d.database[2].filename(), "2.png");
    EXPECT_EQ(d.database[10].filename(), "10.png");
    EXPECT_EQ(d.positives, frames(406, 406, 5));
    ASSERT_EQ(d.remarks.size(), 1u);
    EXPECT_TRUE(remarked(d.remarks, {"ground_truth_new.npy", "15 positives of 5 queries", "406"}));
  }
  DatasetOptions wider;
  wider.frame_tolerance = 15;
  EXPECT_EQ(load_dataset("17places", folder_, wider).positives, frames(406, 406, 15));
  // VPR-Bench's file of the same set is stricter.
  write("17places/ground_truth_new.npy", npy_lists(frames(406, 406, 2), true));
  const Dataset strict = load_dataset("17places", folder_);
  EXPECT_EQ(strict.positives, frames(406, 406, 2));
  EXPECT_TRUE(remarked(strict.remarks, {"up to 2 frames away", "5 is usual"}));
  fs::remove(folder_ / "17places/ground_truth_new.npy");
  const Dataset without = load_dataset("17places", folder_);
  EXPECT_EQ(without.positives, frames(406, 406, 5));
  EXPECT_TRUE(remarked(without.remarks, {"ground_truth_new.npy", "missing"}));
}

TEST_F(Forms, GardensHasTwoSetsOfQueries) {
  sequence("gardens/day_right", 200);
  sequence("gardens/night_right", 200);
  sequence("gardens/day_left", 200);
  write("gardens/gardens_gt.npy", npy_lists(frames(200, 200, 2), true));
  const Dataset night = load_dataset("gardens", folder_);
  EXPECT_EQ(night.queries[3], folder_ / "gardens/night_right/3.png");
  EXPECT_EQ(night.positives, frames(200, 200, 2));
  EXPECT_EQ(night.remarks, std::vector<std::string>{});
  DatasetOptions options;
  options.query_set = "day_left";
  const Dataset left = load_dataset("gardens", folder_, options);
  EXPECT_EQ(left.name, "gardens/day_left");
  EXPECT_EQ(left.queries[3], folder_ / "gardens/day_left/3.png");
  options.query_set = "day_right";
  EXPECT_TRUE(contains(message_of([&] { load_dataset("gardens", folder_, options); }),
                       "night_right, day_left"));
}

TEST_F(Forms, MidAtlanticSkipsTheRowsOfItsPlaces) {
  sequence("eiffel/db_images", 65);
  sequence("eiffel/q_images", 101);
  Lists rows(202);
  for (int i = 0; i < 101; ++i) rows[101 + i] = {i % 65, (i + 7) % 65};
  write("eiffel/eiffel_gt.npy", npy_lists(rows, true));
  const Dataset d = load_dataset("mid_atlantic", folder_);
  EXPECT_EQ(d.remarks, std::vector<std::string>{});
  for (int i = 0; i < 101; ++i) {
    Lists expected{{i % 65, (i + 7) % 65}};
    std::sort(expected[0].begin(), expected[0].end());
    EXPECT_EQ(d.positives[i], expected[0]) << i;
  }
}

TEST_F(Forms, VpAirAppendsItsDistractors) {
  sequence("vpair/reference_views", 4);
  sequence("vpair/queries", 4);
  sequence("vpair/distractors", 3);
  write("vpair/vpair_gt.npy", npy_lists({{0}, {1, 2}, {6}, {}}, true));
  const Dataset d = load_dataset("vp_air", folder_);
  ASSERT_EQ(d.database.size(), 7u);
  EXPECT_EQ(d.database[4], folder_ / "vpair/distractors/0.png");
  // Lists may name the references only: the distractors came later.
  EXPECT_EQ(d.positives, (Lists{{0}, {1, 2}, {}, {}}));
  EXPECT_TRUE(remarked(d.remarks, {"1 positives of 1 queries", "4 places"}));
  EXPECT_TRUE(remarked(d.remarks, {"7 places and 4 queries", "12706 and 2706"}));
  fs::remove_all(folder_ / "vpair/distractors");
  EXPECT_TRUE(remarked(load_dataset("vp_air", folder_).remarks, {"distractors", "missing"}));
}

/// Rows [begin, begin + n) within a radius of rows [0, places).
Lists brute_force(
    const std::vector<std::vector<double>>& poses, int places, int begin, int n, double radius) {
  Lists lists;
  for (int q = begin; q < begin + n; ++q) {
    lists.emplace_back();
    for (int i = 0; i < places; ++i) {
      const double x = poses[q][0] - poses[i][0], y = poses[q][1] - poses[i][1];
      if (x * x + y * y <= radius * radius) lists.back().push_back(i);
    }
  }
  return lists;
}

TEST_F(Forms, PosesAreSlicedAsPublished) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> metres(0, 60);
  std::vector<std::vector<double>> poses;
  for (int i = 0; i < 360; ++i) poses.push_back({metres(engine), metres(engine), metres(engine)});
  const auto make = [&](const std::string& set, int places, int queries) {
    sequence(set + "/db_images", places);
    sequence(set + "/q_images", queries);
    write(set + "/pose_topic_list.npy", npy_table(poses));
  };
  make("hawkins_long_corridor", 127, 118);
  make("laurel_caverns", 141, 112);
  const Dataset hawkins = load_dataset("hawkins", folder_);
  EXPECT_EQ(hawkins.positives, brute_force(poses, 127, 127, 118, 8));
  EXPECT_EQ(hawkins.query_positions[2], (std::array{poses[129][0], poses[129][1]}));
  EXPECT_FALSE(remarked(hawkins.remarks, {"expected"}));
  const Dataset laurel = load_dataset("laurel_caverns", folder_);
  EXPECT_EQ(laurel.positives, brute_force(poses, 141, 229, 112, 8));
  DatasetOptions wide;
  wide.positive_dist_threshold = 20;
  EXPECT_EQ(load_dataset("laurel_caverns", folder_, wide).positives,
            brute_force(poses, 141, 229, 112, 20));
  poses.resize(240);
  write("hawkins_long_corridor/pose_topic_list.npy", npy_table(poses));
  const Dataset cut = load_dataset("hawkins", folder_);
  EXPECT_TRUE(remarked(cut.remarks, {"240 poses", "245"}));
  EXPECT_TRUE(remarked(cut.remarks, {"5 queries have no position", "113.png"}));
  EXPECT_TRUE(cut.positives.back().empty());
}

TEST_F(Forms, NardoAirTakesTheFirstFiveMatches) {
  for (const auto& [name, set] : {std::pair{"nardo_air", "test_40_midref_rot0"},
                                  std::pair{"nardo_air_rot90", "test_40_midref_rot90"}}) {
    const std::string folder = set;
    sequence(folder + "/reference_images", 102);
    sequence(folder + "/query_images", 71);
    std::string matches = "query_ind";
    for (int i = 1; i <= 7; ++i) matches += fmt::format(",top_{}_ref_ind", i);
    Lists expected;
    for (int q = 0; q < 71; ++q) {
      matches += fmt::format("\r\n{}", q);
      expected.emplace_back();
      for (int i = 0; i < 7; ++i) {
        const int place = (q * 3 + i * 11) % 102;
        matches += fmt::format(",{}", place);
        if (i < 5) expected.back().push_back(place);
      }
      std::sort(expected.back().begin(), expected.back().end());
    }
    write(folder + "/gt_matches.csv", matches);
    write(folder + "/query.csv", "name,easting,northing\n3.png,500.5,-7\n");
    const Dataset d = load_dataset(name, folder_);
    EXPECT_EQ(d.positives, expected);
    EXPECT_EQ(d.remarks, std::vector<std::string>{});
    EXPECT_EQ(d.query_positions[3], (std::array{500.5, -7.0}));
    EXPECT_FALSE(d.query_positions[4]);
    write(folder + "/gt_matches.csv", "query_ind,top_1_ref_ind\n0,1\n");
    EXPECT_TRUE(contains(message_of([&] { load_dataset(name, folder_); }), "top_2_ref_ind"));
    write(folder + "/gt_matches.csv", "query_ind,top_1_ref_ind\n0,west\n");
    EXPECT_TRUE(contains(message_of([&] { load_dataset(name, folder_); }), "'west'"));
  }
}

/// Rotation rows as SciPy makes them of the Euler angles zyx (0, 0, 0) and (30, -40, 20) degrees.
std::string camera(bool turned, double x, double y, double z) {
  const std::string rotation = turned
                                   ? "0.6634139481689384 -0.383022221559489 -0.6427876096865394\n"
                                     "0.279453820664377 0.9237208365458508 -0.2620026302293849\n"
                                     "0.6941091380258463 -0.00581325405150301 0.7198463103929542\n"
                                   : "1 0 0\n0 1 0\n0 0 1\n";
  return "a.jpg\n1\n2\n3\n" + rotation + fmt::format("{} {} {}\n640 480\n", x, y, z);
}

TEST_F(Forms, BaiduMallMeasuresInSpace) {
  const std::string set = "baidu_datasets/";
  sequence(set + "training_images_undistort", 4);
  sequence(set + "query_images_undistort", 2);
  write(set + "training_gt/0.camera", camera(false, 0, 0, 0));
  write(set + "training_gt/1.camera", camera(true, 6, 0, 8));
  write(set + "training_gt/2.camera", camera(false, 6, 0, 8.01));
  write(set + "training_gt/3.camera", "nothing\n");
  write(set + "query_gt/0.camera", camera(false, 0, 0, 0));
  write(set + "query_gt/1.camera", camera(true, 100, 0, 0));
  const Dataset d = load_dataset("baidu_mall", folder_);
  EXPECT_EQ(d.positives, (Lists{{0, 1}, {}}));
  EXPECT_TRUE(remarked(d.remarks, {"3.camera", "rotation"}));
  EXPECT_TRUE(remarked(d.remarks, {"1 of 2 queries have no right place"}));
  DatasetOptions options;
  options.max_angle = 30.001;  // (30 + 40 + 20) / 3
  EXPECT_EQ(load_dataset("baidu_mall", folder_, options).positives, (Lists{{0, 1}, {}}));
  options.max_angle = 29.999;
  EXPECT_EQ(load_dataset("baidu_mall", folder_, options).positives, (Lists{{0}, {}}));
  options.positive_dist_threshold = 11;
  options.max_angle = 0;
  EXPECT_EQ(load_dataset("baidu_mall", folder_, options).positives, (Lists{{0, 1, 2}, {}}));
}

TEST_F(Forms, OxfordIsACellOfPaddedNames) {
  for (const char* name : {"1-m/10.png", "1-m/2.png", "1-s/7.png"}) {
    write(std::string("Oxford_Robotcar/oxDataPart/") + name, "");
  }
  const std::vector<std::string> members{mat_text({"1-m/10.png", "1-m/2.png"}),
                                         mat_numbers(2, 2, {0, 30, 0, 40}),  // (0, 0), (30, 40)
                                         mat_text({"1-s/7.png "}),
                                         mat_numbers(1, 2, {0, 9}),
                                         mat_numbers(1, 1, {2}),
                                         mat_numbers(1, 1, {1}),
                                         mat_numbers(1, 1, {10}),
                                         mat_numbers(1, 1, {100})};
  write("Oxford_Robotcar/oxdatapart.mat", mat_elements::header() + mat_cell(members, "dbStruct"));
  const Dataset d = load_dataset("oxford", folder_);
  EXPECT_EQ(relative(d.database, folder_ / "Oxford_Robotcar/oxDataPart"),
            (std::vector<std::string>{"1-m/10.png", "1-m/2.png"}));  // the file's order
  EXPECT_EQ(d.positives, (Lists{{0}}));
  EXPECT_EQ(d.database_positions[1], (std::array{30.0, 40.0}));
  EXPECT_TRUE(remarked(d.remarks, {"2 places and 1 queries", "191 and 191"}));
  DatasetOptions wide;
  wide.positive_dist_threshold = 50;
  EXPECT_EQ(load_dataset("oxford", folder_, wide).positives, (Lists{{0, 1}}));
}

}  // namespace
}  // namespace ria::dataset_test
