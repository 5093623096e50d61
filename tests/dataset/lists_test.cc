// SPDX-License-Identifier: MIT
// Datasets published as lists of names, MATLAB structs and folders of @-names.
#include "dataset/fixture.h"
#include "support/error_message.h"

namespace ria::dataset_test {
namespace {

using ListedForms = DatasetTest;

TEST_F(ListedForms, PittsburghInFourForms) {
  // Two places 30 m apart; the query is 25 m from the second.
  const auto check = [&](const fs::path& folder, const char* set) {
    SCOPED_TRACE(folder.string());
    const Dataset d = load_dataset(set, folder);
    EXPECT_EQ(d.database.size(), 2u);
    EXPECT_EQ(d.positives, (Lists{{1}}));
    for (const fs::path& file : d.database) EXPECT_TRUE(fs::exists(file)) << file;
    EXPECT_TRUE(fs::exists(d.queries.at(0)));
  };
  write("named/images/test/database/@0.00@0.00@a@.jpg", "");
  write("named/images/test/database/@30.00@0.00@b@.jpg", "");
  write("named/images/test/queries/@45.00@20.00@q@.jpg", "");
  check(folder_ / "named", "pitts30k");
  check(folder_ / "named", "at_named");

  for (const char* set : {"struct", "npz", "lists"}) {
    const std::string root = set;
    write(root + "/Pittsburgh250k/000/b.png", "");  // .jpg in the lists
    write(root + "/Pittsburgh250k/000/a.jpg", "");
    write(root + "/Pittsburgh250k/queries_real/000/q.jpg", "");
  }
  const std::vector<Member> fields{{"whichSet", mat_text({"test"})},
                                   {"dbImageFns", mat_names({"000/a.jpg", "000/b.jpg"})},
                                   {"utmDb", mat_numbers(2, 2, {0, 0, 30, 0})},
                                   {"qImageFns", mat_names({"000/q.jpg"})},
                                   {"utmQ", mat_numbers(2, 1, {45, 20})},
                                   {"posDistThr", mat_numbers(1, 1, {25})}};
  write("struct/datasets/pitts30k_test.mat",
        mat_elements::header() + mat_struct("dbStruct", fields));
  check(folder_ / "struct", "pitts30k");
  check(folder_ / "struct", "db_struct");

  write("npz/pitts30k_imageNames_index.txt",
        "./Pittsburgh250k/000/a.jpg\n./Pittsburgh250k/000/b.jpg\n");
  write("npz/pitts30k_imageNames_query.txt", "./Pittsburgh250k/queries_real/000/q.jpg\n");
  write("npz/pitts30k_test.npz",
        zip({{"utmQ.npy", npy_table({{45, 20}})},
             {"utmDb.npy", npy_table({{0, 0}, {30, 0}})},
             {"posDistThr.npy", npy("<i8", "()", le<std::int64_t>(25))}}));
  check(folder_ / "npz", "pitts30k");
  check(folder_ / "npz", "patch_netvlad");

  write("lists/pitts30k_test_dbImages.npy",
        npy_names({"Pittsburgh250k/000/a.jpg", "Pittsburgh250k/000/b.jpg"}));
  write("lists/pitts30k_test_qImages.npy", npy_names({"Pittsburgh250k/queries_real/000/q.jpg"}));
  write("lists/pitts30k_test_gt.npy", npy_lists({{1}}, false));
  check(folder_ / "lists", "pitts30k");
  check(folder_ / "lists", "name_lists");
}

TEST_F(ListedForms, MapillaryPicksItsQueries) {
  const std::string set = "msls_val/";
  for (const char* name : {"a", "b", "q0", "q1", "q2"}) {
    write(fmt::format("images/train_val/cph/{}.jpg", name), "");
  }
  const auto named = [](const char* name) { return fmt::format("train_val/cph/{}.jpg", name); };
  write(set + "msls_val_dbImages.npy", npy_names({named("a"), named("b")}));
  write(set + "msls_val_qImages.npy", npy_names({named("q0"), named("q1"), named("q2")}));
  write(set + "msls_val_qIdx.npy", npy_integers({2, 0}));
  write(set + "msls_val_pIdx.npy", npy_lists({{1}, {0, 9}}, false));
  DatasetOptions options;
  options.images_folder = folder_ / "images";
  const Dataset d = load_dataset("msls_val", folder_, options);
  EXPECT_EQ(relative(d.queries, folder_ / "images/train_val/cph"),
            (std::vector<std::string>{"q2.jpg", "q0.jpg"}));
  EXPECT_EQ(d.positives, (Lists{{1}, {0}}));
  EXPECT_TRUE(remarked(d.remarks, {"msls_val_qIdx.npy", "2 of 3 listed queries"}));
  EXPECT_TRUE(remarked(d.remarks, {"msls_val_pIdx.npy", "1 positives of 1 queries"}));
  write(set + "msls_val_qIdx.npy", npy_integers({2, 3}));
  EXPECT_TRUE(contains(message_of([&] { load_dataset("msls_val", folder_, options); }),
                       "msls_val_qIdx.npy"));
  // OpenVPRLab's names; every query counts.
  fs::remove(folder_ / set / "msls_val_pIdx.npy");
  write(set + "msls_val_gt_25m.npy", npy_lists({{0}, {1}, {}}, false));
  EXPECT_EQ(load_dataset("msls_val", folder_, options).positives, (Lists{{0}, {1}, {}}));
}

TEST_F(ListedForms, ListsWithoutTruthUseThePositionsInTheirNames) {
  const std::vector<std::string> places{"database/@0@0@.jpg", "database/@40@0@.jpg"};
  const std::vector<std::string> queries{"queries/@10@0@.jpg"};
  for (const auto* names : {&places, &queries}) {
    for (const std::string& name : *names) write("st_lucia/" + name, "");
  }
  write("st_lucia/st_lucia_dbImages.npy", npy_names(places));
  write("st_lucia/st_lucia_qImages.npy", npy_names(queries));
  EXPECT_EQ(load_dataset("name_lists", folder_ / "st_lucia").positives, (Lists{{0}}));
  DatasetOptions wide;
  wide.positive_dist_threshold = 30;
  EXPECT_EQ(load_dataset("name_lists", folder_ / "st_lucia", wide).positives, (Lists{{0, 1}}));
}

TEST_F(ListedForms, NordlandInThreeForms) {
  sequence("bench/ref", 31);
  sequence("bench/query", 3);
  const Lists truth{{0, 1}, {9, 10, 11}, {19, 20, 21}};
  write("bench/ground_truth_new.npy", npy_lists(truth, true));
  EXPECT_EQ(load_dataset("nordland", folder_ / "bench").positives, truth);
  EXPECT_EQ(load_dataset("vpr_bench", folder_ / "bench").positives, truth);

  std::vector<std::string> places, queries;
  for (int i = 0; i < 31; ++i) places.push_back(fmt::format("ref/{}.png", i));
  for (int i = 0; i < 3; ++i) queries.push_back(fmt::format("query/{}.png", i));
  fs::remove(folder_ / "bench/ground_truth_new.npy");
  write("bench/Nordland_dbImages.npy", npy_names(places));
  write("bench/Nordland_qImages.npy", npy_names(queries));
  write("bench/Nordland_gt.npy", npy_lists(truth, false));
  EXPECT_EQ(load_dataset("nordland", folder_ / "bench").positives, truth);

  // dvgl: frame i is i * 25 / 10.5 metres north, which makes 25 m ten frames.
  for (int i = 0; i < 40; ++i) {
    const std::string name = fmt::format("@0@{:.2f}@{:05}@.jpg", i * 25 / 10.5, i);
    write("named/images/test/database/" + name, "");
    write("named/images/test/queries/" + name, "");
  }
  EXPECT_EQ(load_dataset("nordland", folder_ / "named").positives, frames(40, 40, 10));
}

TEST_F(ListedForms, SanFranciscoHasSplitsAndQuerySets) {
  for (const char* folder : {"processed/test/database",
                             "processed/test/queries_v1",
                             "processed/test/queries_v2",
                             "processed/val/database",
                             "processed/val/queries"}) {
    write(fmt::format("sf_xl/{}/@1@2@.jpg", folder), "");
  }
  const auto queries = [&](const char* split, const char* query_set) {
    DatasetOptions options;
    options.split = split;
    options.query_set = query_set;
    const Dataset d = load_dataset("sf_xl", folder_, options);
    return d.name + " " + d.queries.at(0).parent_path().filename().string();
  };
  EXPECT_EQ(queries("", ""), "sf_xl queries_v1");
  EXPECT_EQ(queries("", "queries_v2"), "sf_xl/queries_v2 queries_v2");
  EXPECT_EQ(queries("val", ""), "sf_xl/val queries");
  EXPECT_TRUE(contains(message_of([&] { queries("train", ""); }), "splits: test, val"));
}

TEST_F(ListedForms, TokyoFromItsStruct) {
  write("tokyo247/03814/a.png", "");
  write("tokyo247/247query_subset_v2/q.jpg", "");
  const std::vector<Member> fields{{"dbImageFns", mat_names({"03814/a.jpg"})},
                                   {"utmDb", mat_numbers(2, 1, {7, 7})},
                                   {"qImageFns", mat_names({"q.jpg"})},
                                   {"utmQ", mat_numbers(2, 1, {7, 8})},
                                   {"posDistThr", mat_numbers(1, 1, {25})}};
  write("tokyo247/tokyo247.mat", mat_elements::header() + mat_struct("dbStruct", fields));
  const Dataset d = load_dataset("tokyo247", folder_);
  EXPECT_EQ(d.database[0], folder_ / "tokyo247/03814/a.png");
  EXPECT_EQ(d.queries[0], folder_ / "tokyo247/247query_subset_v2/q.jpg");
  EXPECT_EQ(d.positives, (Lists{{0}}));
}

TEST_F(ListedForms, AListOfPicturesComesBeforeTheFolder) {
  for (const char* name : {"b/@3@0@.jpg", "a/@0@0@.jpg", "@9@9@.jpg"}) {
    write(std::string("database/") + name, "");
  }
  write("database_images_paths.txt", "b/@3@0@.jpg\na/@0@0@.jpg\n");
  write("queries/@0@1@.jpg", "");
  const Dataset d = load_at_named(folder_ / "database", folder_ / "queries");
  EXPECT_EQ(relative(d.database, folder_ / "database"),
            (std::vector<std::string>{"b/@3@0@.jpg", "a/@0@0@.jpg"}));
  EXPECT_EQ(load_dataset("at_named", folder_).database, d.database);
}

}  // namespace
}  // namespace ria::dataset_test
