// SPDX-License-Identifier: MIT
// `ria index` and `ria query`.
#include <nlohmann/json.hpp>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

TEST_F(CliTest, IndexInfoSaysWhatMadeIt) {
  const std::string info = works({"index", "info", index(kFastRia)});
  for (const char* part : {"places.ria", "rootsift-ria", "136", "half", "\"d\":16", RIA_VERSION}) {
    EXPECT_NE(info.find(part), info.npos) << part << " is not in\n" << info;
  }
}

TEST_F(CliTest, JsonAnswersFindThePictureItself) {
  const json answers = json::parse(works({"query", index(), "pictures", "--json", "-k", "2"}));
  ASSERT_EQ(answers.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const json& matches = answers[i]["matches"];
    EXPECT_EQ(answers[i]["query"], fmt::format("p{:03}.png", i));
    ASSERT_EQ(matches.size(), 2u);
    EXPECT_EQ(matches[0]["place"], answers[i]["query"]);
    EXPECT_EQ(matches[0]["index"], i);
    EXPECT_NEAR(matches[0]["score"], 1.0, 1e-5);
    EXPECT_LT(matches[1]["score"], matches[0]["score"]);
  }
}

TEST_F(CliTest, TableAnswersNameEveryQueryAndPlace) {
  const auto table = lines(works({"query", index(), "pictures", "-k", "99"}));
  ASSERT_EQ(table.size(), 1u + 4u * 4u);
  EXPECT_TRUE(table[0].starts_with("query"));
  EXPECT_TRUE(table[1].starts_with("p000.png     1  1.0000  p000.png")) << table[1];
  EXPECT_TRUE(table[2].starts_with("             2  ")) << table[2];
}

TEST_F(CliTest, CsvQuotesNames) {
  pictures();
  fs::rename(folder_ / "pictures" / "p000.png", folder_ / "pictures" / "a, \"b\".png");
  works(Args{"index", "build", "pictures", "--out", "x.ria"} + kFast);
  const auto csv = lines(works({"query", "x.ria", "pictures", "--csv", "-k", "1"}));
  ASSERT_EQ(csv.size(), 5u);
  EXPECT_EQ(csv[0], "query,rank,place,score");
  EXPECT_EQ(csv[1], R"("a, ""b"".png",1,"a, ""b"".png",1.000000)");
  EXPECT_EQ(csv[2], "p001.png,1,p001.png,1.000000");
}

TEST_F(CliTest, PairsAreQueryAndPlace) {
  const auto pairs = lines(works({"query", index(), "pictures", "--pairs", "-k", "1"}));
  const Args expected = {
      "p000.png p000.png", "p001.png p001.png", "p002.png p002.png", "p003.png p003.png"};
  EXPECT_EQ(pairs, expected);
}

TEST_F(CliTest, QueryKeepsTheIndexsOptions) {
  index({"--method",
         "rootsift-ria",
         "--longest_side",
         "96",
         "--d",
         "12",
         "--estimator",
         "oas",
         "--mapping",
         "log_euclidean",
         "--normalize_patches",
         "false",
         "--resize",
         "pil_bicubic"});
  const json answers = json::parse(works({"query", "places.ria", "pictures/p001.png", "--json"}));
  EXPECT_EQ(answers[0]["query"], "pictures/p001.png");
  EXPECT_EQ(answers[0]["matches"][0]["place"], "p001.png");
  EXPECT_NEAR(answers[0]["matches"][0]["score"], 1.0, 1e-5);
}

TEST_F(CliTest, EveryProjectionComesBackFromTheIndex) {
  pictures();
  Matrix picked(128, 8);
  for (int i = 0; i < 8; ++i) picked(i, i) = 1;
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (128, 8), }";
  std::string npy = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
  npy.resize(127, ' ');
  npy += '\n';
  npy.append(reinterpret_cast<const char*>(picked.data()), picked.size() * sizeof(float));
  spill(folder_ / "picked.npy", npy);
  const Args projections = {"none", "random", "pca", "pca:pictures", "picked.npy"};
  const int dims[] = {8256, 136, 136, 136, 36};
  for (std::size_t i = 0; i < projections.size(); ++i) {
    SCOPED_TRACE(projections[i]);
    const std::string built =
        works(Args{"index", "build", "pictures", "--out", "x.ria", "--projection", projections[i]} +
              kFastRia);
    EXPECT_EQ(built, fmt::format("x.ria: 4 places, {} dims by rootsift-ria\n", dims[i]));
    const json answers = json::parse(works({"query", "x.ria", "pictures", "--json"}));
    for (const json& answer : answers) {
      EXPECT_EQ(answer["matches"][0]["place"], answer["query"]);
      EXPECT_NEAR(answer["matches"][0]["score"], 1.0, 1e-4);
    }
    fs::remove(folder_ / "x.ria");
  }
}

TEST_F(CliTest, ProjectionThatIsNoneIsRefused) {
  pictures();
  spill(folder_ / "text.npy", "no matrix");
  works(Args{"describe", "pictures", "--out", "wide.npy"} + kFast);  // 4 rows, not 128
  for (const std::string name : {"text.npy", "nowhere.npy", "wide.npy", "pca:nowhere"}) {
    refused(1,
            Args{"index", "build", "pictures", "--out", "x.ria", "--projection", name} + kFastRia,
            {name.starts_with("pca:") ? name.substr(4) : name});
  }
}

TEST_F(CliTest, IndexOfAnotherMethodIsRefused) {
  refused(1,
          {"query", index(), "pictures", "--method", "rootsift-ria"},
          {"places.ria", "rootsift-gem", "rootsift-ria"});
}

TEST_F(CliTest, IndexCutShortIsRefusedAtEveryLength) {
  const std::string whole = read_text(folder_ / index());
  for (const std::size_t length : {std::size_t{0},
                                   std::size_t{1},
                                   std::size_t{7},
                                   std::size_t{8},
                                   std::size_t{100},
                                   whole.size() / 2,
                                   whole.size() - 1}) {
    spill(folder_ / "cut.ria", std::string_view(whole).substr(0, length));
    refused(1, {"query", "cut.ria", "pictures"}, {"cut.ria"});
    refused(1, {"index", "info", "cut.ria"}, {"cut.ria"});
  }
}

TEST_F(CliTest, FileThatIsNoIndexIsRefused) {
  pictures();
  spill(folder_ / "text.ria", "these are not the places you know");
  for (const std::string name : {"text.ria", "nowhere.ria", "pictures", "pictures/p000.png"}) {
    refused(1, {"query", name, "pictures"}, {name});
    refused(1, {"index", "info", name}, {name});
  }
}

TEST_F(CliTest, IndexMadeWithSomethingElseIsRefused) {
  pictures();
  const Recognizer recognizer("rootsift-gem");
  const auto save = [&](const char* name, auto change) {
    MapHeader header = recognizer.header();
    change(header);
    Map map(header);
    map.add(Matrix(1, header.dim, recognizer.describe(street()[0])), {{"p000.png"}});
    map.save(folder_ / name);
  };
  save("weights.ria", [](MapHeader& header) { header.weights_sha256 = "0123abcd"; });
  refused(1, {"query", "weights.ria", "pictures"}, {"weights.ria", "0123abcd"});
  save("version.ria", [](MapHeader& header) { header.ria_version = "0.0.7"; });
  refused(1, {"query", "version.ria", "pictures"}, {"version.ria", "0.0.7", RIA_VERSION});
  refused(1, {"index", "add", "version.ria", "pictures"}, {"version.ria", "0.0.7"});
  save("method.ria", [](MapHeader& header) { header.method = "telepathy"; });
  refused(1,
          {"query", "method.ria", "pictures"},
          {"method.ria", "telepathy", "'ria methods' lists all"});
  save("options.ria", [](MapHeader& header) { header.options = R"({"mood": 1})"; });
  refused(1, {"query", "options.ria", "pictures"}, {"options.ria", "mood"});
  save("dim.ria", [](MapHeader& header) { header.method = "rootsift-ria"; });
  refused(1, {"query", "dim.ria", "pictures"}, {"dim.ria", "128"});
}

TEST_F(CliTest, OldIndexIsToldHowToBuildAgain) {
  pictures();
  const std::string header = R"({"__metadata__":{"format":"ria-index-2","method":"rootsift-ria"}})";
  spill(folder_ / "old.ria",
        std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header);
  for (const Args& command :
       {Args{"query", "old.ria", "pictures"}, Args{"index", "info", "old.ria"}}) {
    refused(1, command, {"old.ria", "older ria", "ria index build FOLDER --out old.ria"});
  }
}

TEST_F(CliTest, PlacesComeAndGo) {
  const std::string map = index(kFast + Args{"--storage", "int8", "--rerank", "patches"});
  pictures("more");
  fs::rename(folder_ / "more" / "p001.png", folder_ / "more" / "new.png");
  spill(folder_ / "more" / "broken.png", "no picture");
  const Result added = ria({"index", "add", map, "more"});
  EXPECT_EQ(added.exit_code, 0);
  EXPECT_EQ(added.out, "places.ria: 5 places, 128 dims by rootsift-gem\n");
  EXPECT_NE(added.err.find("broken.png"), added.err.npos) << added.err;
  fs::remove(folder_ / "more" / "broken.png");
  EXPECT_EQ(works({"index", "add", map, "more"}), added.out);  // nothing is doubled
  const auto best = [&] {
    const json answers = json::parse(works({"query", map, "more/new.png", "--json", "-k", "1"}));
    return answers[0]["matches"][0]["place"].get<std::string>();
  };
  EXPECT_EQ(best(), "p001.png");  // the same picture, which came first
  refused(1, {"index", "remove", map, "p001.png", "nobody"}, {"places.ria", "nobody"});
  EXPECT_EQ(works({"index", "remove", map, "p001.png"}),
            "places.ria: 4 places, 128 dims by rootsift-gem\n");
  EXPECT_EQ(best(), "new.png");
  EXPECT_EQ(works({"index", "check", map}), "places.ria: whole, 4 places\n");
  const auto found = contents();
  EXPECT_EQ(found.count("places.ria-wal") + found.count("places.ria-shm"), 0u);
}

TEST_F(CliTest, ShardsMergeIntoWhatOneRunBuilds) {
  pictures("all");
  works(Args{"index", "build", "all", "--out", "all.ria"} + kFast);
  for (const char* shard : {"a", "b"}) fs::create_directory(folder_ / shard);
  for (int i = 0; i < 4; ++i) {
    const std::string name = fmt::format("p{:03}.png", i);
    fs::copy_file(folder_ / "all" / name, folder_ / (i < 3 ? "a" : "b") / name);
  }
  works(Args{"index", "build", "a", "--out", "a.ria"} + kFast);
  works(Args{"index", "build", "b", "--out", "b.ria"} + kFast);
  EXPECT_EQ(works({"index", "merge", "a.ria", "b.ria", "a.ria", "--out", "merged.ria"}),
            "merged.ria: 4 places, 128 dims by rootsift-gem\n");
  EXPECT_TRUE(read_text(folder_ / "merged.ria") == read_text(folder_ / "all.ria"));
  works(Args{"index", "build", "b", "--out", "other.ria"} + kFastRia);
  refused(1,
          {"index", "merge", "a.ria", "other.ria", "--out", "x.ria"},
          {"x.ria", "other.ria", "rootsift-gem", "rootsift-ria"});
}

TEST_F(CliTest, CheckNamesDamage) {
  std::string bytes = read_text(folder_ / index());
  bytes[bytes.find("p003.png")] = 'q';
  spill(folder_ / "damaged.ria", bytes);
  const auto before = contents();
  const Result result = ria({"index", "check", "damaged.ria"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("damaged.ria is damaged: place 3"), std::string::npos) << result.out;
  ASSERT_EQ(complaints(result.err).size(), 1u);
  EXPECT_TRUE(complaints(result.err)[0].starts_with("ria: damaged.ria is damaged"));
  EXPECT_EQ(contents(), before);
}

TEST_F(CliTest, ExportIsWhatDescribeWrites) {
  const std::string map = index(kFast + Args{"--storage", "float"});
  works(Args{"describe", "pictures", "--out", "described.npy"} + kFast);
  EXPECT_EQ(works({"index", "export", map, "--out", "exported.npy"}),
            "exported.npy: 4 descriptors of 128 dims\n");
  EXPECT_EQ(read_rows(folder_ / "exported.npy"), read_rows(folder_ / "described.npy"));
  EXPECT_EQ(read_text(folder_ / "exported.names.txt"), "p000.png\np001.png\np002.png\np003.png\n");
  refused(2, {"index", "export", map, "--out", "x.txt"}, {"x.txt", ".npy"});
}

}  // namespace
}  // namespace ria::cli_test
