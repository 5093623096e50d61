// SPDX-License-Identifier: MIT
// What load_dataset and check_dataset say of copies that are not as published.
#include <cmath>
#include <regex>
#include <set>

#include "dataset/fixture.h"
#include "support/error_message.h"
#include "util/files.h"

namespace ria::dataset_test {
namespace {

TEST(DatasetTable, NamesAreUniqueAndRowsAreComplete) {
  std::set<std::string> names;
  for (const DatasetInfo& info : datasets()) {
    SCOPED_TRACE(info.name);
    EXPECT_TRUE(names.insert(info.name).second);
    EXPECT_EQ(find_dataset(info.name).title, info.title);
    for (const std::string* text : {&info.title, &info.tests, &info.source, &info.positives}) {
      EXPECT_FALSE(text->empty());
    }
    EXPECT_FALSE(info.layouts.empty());
    ASSERT_FALSE(info.parts.empty());
    EXPECT_EQ(info.height > 0, info.width > 0);
  }
  const std::string message = message_of([] { find_dataset("atlantis"); });
  EXPECT_TRUE(contains(message, "'atlantis'"));
  EXPECT_TRUE(contains(message, "'ria datasets' lists all"));
  for (const std::string& name : names) {
    const std::string mistyped = name.substr(0, name.size() - 1);
    if (names.contains(mistyped)) continue;
    EXPECT_TRUE(contains(message_of([&] { find_dataset(mistyped); }), "did you mean " + name))
        << mistyped;
  }
}

TEST(DatasetTable, HasThePapersSizes) {
  const auto size = [](const char* name) {
    const DatasetPart& part = find_dataset(name).parts.front();
    return std::pair{part.database, part.queries};
  };
  EXPECT_EQ(size("17places"), std::pair(406, 406));
  EXPECT_EQ(size("pitts30k"), std::pair(10000, 6816));
  EXPECT_EQ(size("gardens"), std::pair(200, 200));
  EXPECT_EQ(size("oxford"), std::pair(191, 191));
  EXPECT_EQ(size("st_lucia"), std::pair(1549, 1464));
  EXPECT_EQ(size("hawkins"), std::pair(127, 118));
  EXPECT_EQ(size("laurel_caverns"), std::pair(141, 112));
  EXPECT_EQ(size("nardo_air"), std::pair(102, 71));
  EXPECT_EQ(size("mid_atlantic"), std::pair(65, 101));
}

/// The page lists the table's names in the table's order.
TEST(DatasetTable, IsThePageInTheDocs) {
  const std::string page = read_text(fs::path(RIA_SOURCE_DIR) / "docs" / "datasets.md");
  EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 120);
  std::vector<std::string> listed, names;
  const std::regex row("\n\\| `([a-z0-9_]+)` \\|");
  for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it) {
    listed.push_back((*it)[1]);
  }
  for (const DatasetInfo& info : datasets()) names.push_back(info.name);
  EXPECT_EQ(listed, names);
}

class Checked : public DatasetTest {
 protected:
  /// A whole small set whose size no publisher fixes.
  void make(int places = 5) {
    for (int i = 0; i < places; ++i) {
      picture(fmt::format("set/ref/{}.png", i));
      picture(fmt::format("set/query/{}.png", i));
    }
    write("set/ground_truth_new.npy", npy_lists(frames(places, places, 1), true));
  }
  DatasetCheck check(const char* name = "vpr_bench") const {
    return check_dataset(name, folder_ / "set");
  }
};

TEST_F(Checked, AWholeSetIsClean) {
  make();
  DatasetCheckOptions options;
  int told = 0;
  options.progress = [&](int done, int total) { told = done == total ? total : told; };
  const DatasetCheck found = check_dataset("vpr_bench", folder_ / "set", options);
  EXPECT_TRUE(found.clean());
  EXPECT_EQ(found.database, 5);
  EXPECT_EQ(found.queries, 5);
  EXPECT_EQ(told, 10);
}

TEST_F(Checked, WhatIsMissingIsNamedOneByOne) {
  EXPECT_EQ(check("17places").missing, std::vector<std::string>{(folder_ / "set").string()});
  fs::create_directories(folder_ / "set");
  EXPECT_EQ(check("17places").missing, (std::vector<std::string>{"ref", "query"}));
  EXPECT_EQ(check("hawkins").missing,
            (std::vector<std::string>{"db_images", "q_images", "pose_topic_list.npy"}));
  fs::create_directories(folder_ / "set/q_images");
  EXPECT_EQ(check("hawkins").missing,
            (std::vector<std::string>{"db_images", "pose_topic_list.npy"}));
  EXPECT_EQ(check("st_lucia").missing,
            (std::vector<std::string>{"images/test/database", "images/test/queries"}));
  for (const DatasetInfo& info : datasets()) {
    SCOPED_TRACE(info.name);
    const DatasetCheck found = check(info.name.c_str());
    EXPECT_FALSE(found.usable);
    EXPECT_FALSE(found.missing.empty());
    const std::string message = message_of([&] { load_dataset(info.name, folder_ / "set"); });
    for (const std::string& name : found.missing) EXPECT_TRUE(contains(message, name)) << message;
  }
  EXPECT_TRUE(contains(message_of([&] { load_dataset("gardens", folder_ / "gone"); }), "gone"));
}

TEST_F(Checked, ListedPicturesThatAreMissing) {
  picture("set/a.png");
  picture("set/q.png");
  write("set/x_dbImages.npy", npy_names({"gone.jpg", "a.png", "lost.jpg"}));
  write("set/x_qImages.npy", npy_names({"q.png"}));
  write("set/x_gt.npy", npy_lists({{1}}, false));
  const DatasetCheck found = check("name_lists");
  EXPECT_TRUE(found.usable);
  EXPECT_FALSE(found.clean());
  EXPECT_EQ(found.missing,
            (std::vector<std::string>{(folder_ / "set/gone.jpg").string(),
                                      (folder_ / "set/lost.jpg").string()}));
  EXPECT_TRUE(found.unreadable.empty());
  const Dataset data = load_dataset("name_lists", folder_ / "set");
  EXPECT_EQ(data.database.size(), 3u);  // positions hold
  EXPECT_EQ(data.positives, (Lists{{1}}));
  EXPECT_TRUE(remarked(data.remarks, {"2 of 3 listed database pictures", "gone.jpg"}));
  fs::remove(folder_ / "set/q.png");
  EXPECT_TRUE(contains(message_of([&] { load_dataset("name_lists", folder_ / "set"); }),
                       "none of the 1 listed queries"));
  EXPECT_FALSE(check("name_lists").usable);
}

TEST_F(Checked, WrongSizesAndPositives) {
  make();
  write("set/ground_truth_new.npy", npy_lists({{0, 5, -1}, {1, 1}, {2}, {3}}, true));
  const DatasetCheck found = check();
  EXPECT_TRUE(found.usable);
  EXPECT_TRUE(remarked(found.problems, {"4 lists of positives for 5 queries"}));
  EXPECT_TRUE(remarked(found.notes, {"2 positives of 1 queries", "5 places"}));
  EXPECT_TRUE(remarked(found.notes, {"1 positives are listed twice"}));
  EXPECT_TRUE(remarked(found.notes, {"1 of 5 queries have no right place"}));
  EXPECT_EQ(load_dataset("vpr_bench", folder_ / "set").positives, (Lists{{0}, {1}, {2}, {3}, {}}));
  EXPECT_TRUE(remarked(check("17places").problems, {"5 places and 5 queries", "406 and 406"}));
  write("set/ground_truth_new.npy", npy_lists(frames(5, 5, 1), true, 3));
  EXPECT_TRUE(remarked(check().problems, {"first column"}));
  write("set/ground_truth_new.npy", "no array");
  EXPECT_FALSE(check().usable);
  EXPECT_TRUE(remarked(check().problems, {"ground_truth_new.npy"}));
}

TEST_F(Checked, DamagedAndDuplicatePictures) {
  make();
  write("set/ref/1.png", "no picture");
  fs::copy_file(
      folder_ / "set/ref/0.png", folder_ / "set/query/3.png", fs::copy_options::overwrite_existing);
  const DatasetCheck found = check();
  EXPECT_TRUE(found.usable);
  ASSERT_EQ(found.unreadable.size(), 1u);
  EXPECT_TRUE(contains(found.unreadable[0], "ref/1.png"));
  EXPECT_EQ(found.duplicates,
            (std::vector<std::vector<fs::path>>{
                {folder_ / "set/query/3.png", folder_ / "set/ref/0.png"}}));
  EXPECT_FALSE(found.clean());
  DatasetCheckOptions quick;
  quick.pictures = false;
  EXPECT_TRUE(check_dataset("vpr_bench", folder_ / "set", quick).clean());
}

TEST_F(Checked, PicturesWithoutAPosition) {
  write("set/database/@1@2@.jpg", "");
  write("set/database/plain.jpg", "");
  write("set/queries/@1@3@.jpg", "");
  const Dataset data = load_dataset("at_named", folder_ / "set");
  EXPECT_EQ(data.positives, (Lists{{0}}));
  EXPECT_FALSE(data.database_positions[1]);
  EXPECT_TRUE(remarked(data.remarks, {"1 database pictures have no position", "plain.jpg"}));
  fs::remove(folder_ / "set/database/@1@2@.jpg");
  EXPECT_TRUE(contains(message_of([&] { load_dataset("at_named", folder_ / "set"); }),
                       "'@east@north@...'"));
}

TEST_F(Checked, OptionsWithoutMeaningAreRefused) {
  make();
  const auto refusal = [&](const char* name, auto set_field) {
    DatasetOptions options;
    set_field(options);
    return message_of([&] { load_dataset(name, folder_ / "set", options); });
  };
  EXPECT_TRUE(
      contains(refusal("vpr_bench", [](DatasetOptions& o) { o.positive_dist_threshold = 5; }),
               "positive_dist_threshold has no meaning for vpr_bench"));
  EXPECT_TRUE(contains(refusal("vpr_bench", [](DatasetOptions& o) { o.frame_tolerance = 5; }),
                       "frame_tolerance has no meaning"));
  EXPECT_TRUE(contains(refusal("17places", [](DatasetOptions& o) { o.max_angle = 5; }),
                       "max_angle has no meaning"));
  EXPECT_TRUE(contains(refusal("17places", [](DatasetOptions& o) { o.frame_tolerance = -1; }),
                       "frame_tolerance is -1"));
  EXPECT_TRUE(
      contains(refusal("17places", [](DatasetOptions& o) { o.positive_dist_threshold = NAN; }),
               "positive_dist_threshold is nan"));
  EXPECT_TRUE(contains(refusal("17places", [](DatasetOptions& o) { o.split = "val"; }),
                       "17places has no split 'val'"));
}

}  // namespace
}  // namespace ria::dataset_test
