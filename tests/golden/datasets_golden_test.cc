// SPDX-License-Identifier: MIT
// The readers of datasets on published ground truth; the pictures are empty files of those names.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dataset/fixture.h"
#include "golden/golden.h"
#include "tensor/npy_objects.h"
#include "util/files.h"

namespace ria::dataset_test {
namespace {

fs::path ground_truth() { return beside_goldens("groundtruth"); }

#define RIA_NEEDS_GROUND_TRUTH() \
  if (!fs::exists(ground_truth())) GTEST_SKIP() << "no ground truth in " << ground_truth().string()

class Published : public DatasetTest {
 protected:
  /// Puts a published file into a set.
  void copy(const std::string& from, const std::string& to) const {
    fs::create_directories((folder_ / to).parent_path());
    fs::copy_file(ground_truth() / from, folder_ / to);
  }
  std::vector<std::string> touch_listed(const std::string& list, const std::string& set) const {
    const std::vector<std::string> names = read_npy_text(ground_truth() / list).values;
    for (const std::string& name : names) write(set + "/" + name, "");
    return names;
  }
};

std::size_t total(const Lists& lists) {
  std::size_t sum = 0;
  for (const auto& list : lists) sum += list.size();
  return sum;
}

TEST_F(Published, VprBench) {
  RIA_NEEDS_GROUND_TRUTH();
  sequence("17places/ref", 406);
  sequence("17places/query", 406);
  copy("vpr-bench/17places/ground_truth_new.npy", "17places/ground_truth_new.npy");
  const Dataset places = load_dataset("17places", folder_);
  EXPECT_EQ(places.positives, frames(406, 406, 2));
  EXPECT_TRUE(remarked(places.remarks, {"3 positives of 2 queries", "406"}));
  EXPECT_TRUE(remarked(places.remarks, {"up to 2 frames"}));
  EXPECT_EQ(places.remarks.size(), 2u);

  sequence("gardens/day_right", 200);
  sequence("gardens/night_right", 200);
  copy("vpr-bench/GardensPointWalking/ground_truth_new.npy", "gardens/gardens_gt.npy");
  const Dataset gardens = load_dataset("gardens", folder_);
  EXPECT_EQ(gardens.positives, frames(200, 200, 2));
  EXPECT_TRUE(remarked(gardens.remarks, {"3 positives of 2 queries", "200"}));
  EXPECT_EQ(gardens.remarks.size(), 1u);

  sequence("corridor/ref", 111);
  sequence("corridor/query", 111);
  copy("vpr-bench/corridor/ground_truth_new.npy", "corridor/ground_truth_new.npy");
  const Dataset corridor = load_dataset("vpr_bench", folder_ / "corridor");
  EXPECT_EQ(corridor.positives, frames(111, 111, 2));
  EXPECT_TRUE(corridor.remarks.empty());
}

TEST_F(Published, Nordland) {
  RIA_NEEDS_GROUND_TRUTH();
  std::vector<std::string> places, queries;
  for (int i = 0; i < 27592; ++i) places.push_back(fmt::format("ref/{}.jpg", i));
  for (int i = 0; i < 2760; ++i) queries.push_back(fmt::format("query/{}.jpg", i));
  // All but one place and query are missing: nothing but names is needed here.
  write("Nordland/ref/0.jpg", "");
  write("Nordland/query/0.jpg", "");
  write("Nordland/Nordland_dbImages.npy", npy_names(places));
  write("Nordland/Nordland_qImages.npy", npy_names(queries));
  copy("nordland_gsv/Nordland_gt.npy", "Nordland/Nordland_gt.npy");
  const Dataset data = load_dataset("nordland", folder_);
  EXPECT_EQ(data.database.size(), 27592u);
  ASSERT_EQ(data.positives.size(), 2760u);
  for (int q = 0; q < 2760; ++q) {
    const std::vector<int> expected =
        q == 0 ? std::vector{0, 1} : std::vector{10 * q - 1, 10 * q, 10 * q + 1};
    EXPECT_EQ(data.positives[q], expected) << q;
  }
  EXPECT_FALSE(remarked(data.remarks, {"expected"}));
  EXPECT_TRUE(remarked(data.remarks, {"27591 of 27592 listed database pictures are missing"}));
}

TEST_F(Published, PittsburghNpz) {
  RIA_NEEDS_GROUND_TRUTH();
  for (const char* name : {"_imageNames_index.txt", "_imageNames_query.txt", "_test.npz"}) {
    copy(std::string("pitts30k/pitts30k") + name, std::string("pitts30k/pitts30k") + name);
  }
  write("pitts30k/Pittsburgh250k/000/000829_pitch1_yaw1.jpg", "");
  write("pitts30k/Pittsburgh250k/queries_real/000/000546_pitch1_yaw1.jpg", "");
  const Dataset data = load_dataset("pitts30k", folder_);
  EXPECT_EQ(data.database.size(), 10000u);
  EXPECT_EQ(data.queries.size(), 6816u);
  EXPECT_FALSE(remarked(data.remarks, {"expected"}));
  for (std::size_t q = 0; q < data.queries.size(); q += 97) {
    std::vector<int> near;
    for (std::size_t i = 0; i < data.database.size(); ++i) {
      const auto a = *data.query_positions[q], b = *data.database_positions[i];
      const double x = a[0] - b[0], y = a[1] - b[1];
      if (x * x + y * y <= 625) near.push_back(static_cast<int>(i));
    }
    EXPECT_EQ(data.positives[q], near) << q;
  }
  for (const auto& list : data.positives) EXPECT_FALSE(list.empty());
}

TEST_F(Published, StLuciaFromItsNames) {
  RIA_NEEDS_GROUND_TRUTH();
  const auto places = touch_listed("st_lucia/st_lucia_dbImages.npy", "st_lucia/images/test");
  const auto queries = touch_listed("st_lucia/st_lucia_qImages.npy", "st_lucia/images/test");
  const Dataset named = load_dataset("st_lucia", folder_);
  EXPECT_EQ(named.database.size(), 1549u);
  EXPECT_EQ(named.queries.size(), 1464u);
  EXPECT_TRUE(named.remarks.empty());
  copy("st_lucia/st_lucia_dbImages.npy", "st_lucia/images/test/st_lucia_dbImages.npy");
  copy("st_lucia/st_lucia_qImages.npy", "st_lucia/images/test/st_lucia_qImages.npy");
  const Dataset listed = load_dataset("name_lists", folder_ / "st_lucia/images/test");
  EXPECT_EQ(relative(listed.database, folder_ / "st_lucia/images/test"), places);
  EXPECT_EQ(relative(listed.queries, folder_ / "st_lucia/images/test"), queries);
  EXPECT_EQ(total(listed.positives), total(named.positives));
  EXPECT_GT(total(named.positives), named.queries.size());
}

TEST_F(Published, MapillaryValidation) {
  RIA_NEEDS_GROUND_TRUTH();
  const auto names = touch_listed("msls_val/msls_val_qImages.npy", "msls_val");
  for (const char* name : {"qImages", "qIdx", "pIdx"}) {
    const std::string file = fmt::format("msls_val/msls_val_{}.npy", name);
    copy(file, file);
  }
  std::vector<std::string> places;
  for (int i = 0; i < 18871; ++i) places.push_back(fmt::format("train_val/db/{}.jpg", i));
  write("msls_val/train_val/db/0.jpg", "");
  write("msls_val/msls_val_dbImages.npy", npy_names(places));
  const Dataset data = load_dataset("msls_val", folder_);
  ASSERT_EQ(data.queries.size(), 740u);
  EXPECT_EQ(data.queries[739], folder_ / "msls_val" / names[746]);
  EXPECT_EQ(data.positives[0], (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(data.positives[739], (std::vector<int>{18860, 18861, 18862}));
  EXPECT_EQ(total(data.positives), 7955u);
  EXPECT_TRUE(remarked(data.remarks, {"740 of 747"}));
  EXPECT_FALSE(remarked(data.remarks, {"expected"}));
}

/// Real pictures: the sample of Gardens Point is a whole set, without its file of lists.
TEST(PublishedPictures, GardensPointIsWhole) {
  const fs::path folder = data_dir() / "gardens_point";
  if (!fs::exists(folder)) GTEST_SKIP() << "no pictures in " << folder.string();
  const DatasetCheck check = check_dataset("gardens", folder);
  EXPECT_TRUE(check.usable);
  EXPECT_EQ(check.database, 200);
  EXPECT_EQ(check.queries, 200);
  EXPECT_TRUE(check.unreadable.empty());
  EXPECT_EQ(check.problems.size(), 1u);
  EXPECT_TRUE(remarked(check.problems, {"gardens_gt.npy", "missing"}));
  const Dataset by_name = load_dataset("gardens", folder);
  const Dataset by_file = load_ground_truth(folder / "gt_night_right_vs_day_right.json");
  EXPECT_EQ(by_name.positives, by_file.positives);
  ASSERT_EQ(by_name.queries.size(), by_file.queries.size());
  for (std::size_t i = 0; i < by_name.queries.size(); ++i) {
    EXPECT_TRUE(fs::equivalent(by_name.queries[i], by_file.queries[i])) << i;
    EXPECT_TRUE(fs::equivalent(by_name.database[i], by_file.database[i])) << i;
  }
}

}  // namespace
}  // namespace ria::dataset_test
