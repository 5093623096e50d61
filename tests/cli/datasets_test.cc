// SPDX-License-Identifier: MIT
// `ria datasets` and `ria eval --dataset NAME`.
#include <nlohmann/json.hpp>

#include "cli/fixture.h"
#include "dataset/fixture.h"

namespace ria::cli_test {
namespace {

using dataset_test::npy_lists;
using nlohmann::json;

class CliDatasets : public CliTest {
 protected:
  /// A set of four places seen twice; query 2 has a right place it will not find first.
  void make() const {
    fs::create_directories(folder_ / "data/set");
    fs::rename(folder_ / pictures("ref"), folder_ / "data/set/ref");
    fs::create_directories(folder_ / "data/set/query");
    for (int i = 0; i < 4; ++i) {
      Image turned = street()[i];
      for (std::uint8_t& value : turned.rgb) value = static_cast<std::uint8_t>(value / 2 + 40);
      save_image(folder_ / fmt::format("data/set/query/p{:03}.png", i), turned);
    }
    truth({{0}, {1}, {0}, {3}});
  }
  void truth(const dataset_test::Lists& lists) const {
    spill(folder_ / "data/set/ground_truth_new.npy", npy_lists(lists, true));
  }
};

TEST_F(CliDatasets, ListAndShow) {
  const std::string list = works({"datasets"});
  const json all = json::parse(works({"datasets", "--json"}));
  ASSERT_EQ(all.size(), datasets().size());
  for (const DatasetInfo& info : datasets()) {
    EXPECT_NE(list.find("\n" + info.name + " "), list.npos) << info.name;
    EXPECT_NE(list.find(info.layouts[0]), list.npos) << info.name;
  }
  const std::string shown = works({"datasets", "show", "pitts30k"});
  for (const char* part : {"Pittsburgh 30k", "25 m", "val        10000 places, 7608 queries"}) {
    EXPECT_NE(shown.find(part), shown.npos) << shown;
  }
  const json one = json::parse(works({"datasets", "show", "mid_atlantic", "--json"}));
  EXPECT_EQ(one, all[9]);
  EXPECT_EQ(one["height"], 405);
  EXPECT_EQ(one["parts"][0]["queries"], 101);
  refused(2, {"datasets", "show", "atlantis"}, {"'atlantis'", "'ria datasets' lists all"});
  refused(2, {"datasets", "atlantis"}, {"atlantis"});
  refused(2, {"datasets", "check", "17places"}, {"folder"});
}

TEST_F(CliDatasets, CheckTellsCleanFromUsableFromUseless) {
  make();
  const Args check = {"datasets", "check", "vpr_bench", "data/set"};
  const Result clean = ria(check);
  EXPECT_EQ(clean.exit_code, 0);
  EXPECT_EQ(clean.out, "vpr_bench in data/set\nplaces      4\nqueries     4\nclean\n");
  spill(folder_ / "data/set/ref/p001.png", "no picture");
  fs::copy_file(folder_ / "data/set/ref/p000.png", folder_ / "data/set/ref/p004.png");
  const Result flawed = ria(check);
  EXPECT_EQ(flawed.exit_code, 1);
  EXPECT_NE(flawed.out.find("\nunreadable  "), flawed.out.npos) << flawed.out;
  EXPECT_NE(flawed.out.find("\nduplicate   data/set/ref/p000.png = data/set/ref/p004.png\n"),
            flawed.out.npos)
      << flawed.out;
  EXPECT_NE(flawed.err.find("ria: vpr_bench in data/set is usable, but not clean: 1 unreadable, "
                            "1 duplicate\n"),
            flawed.err.npos)
      << flawed.err;
  const Result useless = ria({"datasets", "check", "hawkins", "data/set", "--json"});
  EXPECT_EQ(useless.exit_code, 1);
  const json report = json::parse(useless.out);
  EXPECT_EQ(report["usable"], false);
  EXPECT_EQ(report["missing"], (json{"db_images", "q_images", "pose_topic_list.npy"}));
  EXPECT_EQ(ria(check + Args{"--no_pictures"}).exit_code, 0);
}

TEST_F(CliDatasets, EvalByName) {
  make();
  const Args eval = Args{"eval", "--dataset", "vpr_bench", "--data_folder", "data/set"} + kFast;
  const auto said = lines(works(eval));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "vpr_bench: 4 queries, 4 places");
  EXPECT_EQ(said[1], "rootsift-gem: R@1: 75.0, R@5: 100.0, R@10: 100.0, R@20: 100.0");
  truth({{0}, {1}, {0}, {3, 4}});
  const Result noted = ria(eval);
  EXPECT_EQ(noted.exit_code, 0);
  EXPECT_NE(noted.err.find("ria: note: data/set/ground_truth_new.npy: 1 positives of 1 queries"),
            noted.err.npos)
      << noted.err;
  refused(2, Args{"eval", "--dataset", "gardens"} + kFast, {"gardens", "--data_folder"});
  refused(
      2, Args{"eval", "--dataset", "atlantis"} + kFast, {"'atlantis'", "'ria datasets' lists all"});
  refused(1,
          Args{"eval", "--dataset", "gardens", "--data_folder", "data"} + kFast,
          {"data", "day_right", "night_right"});
  refused(
      2, eval + Args{"--positive_dist_threshold", "3"}, {"positive_dist_threshold", "vpr_bench"});
  refused(2, eval + Args{"--positive_dist_threshold", "-3"}, {"positive_dist_threshold", "-3"});
}

TEST_F(CliDatasets, EvalOfAFileTakesNoRadius) {
  spill(folder_ / "gt.json", "{}");
  refused(2,
          Args{"eval", "--dataset", "gt.json", "--positive_dist_threshold", "3"} + kFast,
          {"positive_dist_threshold", "gt.json"});
  refused(2, Args{"eval", "--data_folder", "."} + kFast, {"--dataset"});
}

}  // namespace
}  // namespace ria::cli_test
