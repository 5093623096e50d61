// SPDX-License-Identifier: MIT
// The program as a user meets it: exit codes, one line for an error, whole files or none.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/odd_pictures.h"
#include "cli/run_program.h"
#include "ria/ria.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using cli_test::Args;
using cli_test::complaints;
using cli_test::lines;
using cli_test::Program;
using cli_test::Result;
using cli_test::Surroundings;
using cli_test::operator+;
using nlohmann::json;

constexpr char kProgram[] = RIA_BINARY_DIR "/ria";
// Small pictures and no network: milliseconds a picture.
const Args kFast = {"--method", "rootsift-gem", "--longest_side", "64"};
const Args kFastRia = {"--method", "rootsift-ria", "--longest_side", "96", "--d", "16"};

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spill(const fs::path& file, std::string_view bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

template <std::size_t N>
void spill(const fs::path& file, const std::uint8_t (&bytes)[N]) {
  spill(file, std::string_view(reinterpret_cast<const char*>(bytes), N));
}

/// Four different places, rendered once a process.
const std::vector<Image>& street() {
  static const std::vector<Image> images = [] {
    std::vector<Image> made;
    for (int i = 0; i < 4; ++i) {
      made.push_back(render_street({1.75, 40.0 * i}, Condition::kDay, 120, 160, 7));
    }
    return made;
  }();
  return images;
}

/// The values of a .npy file that must be little-endian floats in rows; checks the header.
Matrix read_rows(const fs::path& file) {
  const std::string bytes = slurp(file);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t start = bytes.find('\n') + 1;
  EXPECT_EQ(start % 64, 0u);
  int rows = 0, columns = 0;
  EXPECT_EQ(std::sscanf(bytes.c_str() + 10,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }",
                        &rows,
                        &columns),
            2);
  Matrix m(rows, columns);
  EXPECT_EQ(bytes.size() - start, m.size() * sizeof(float));
  std::memcpy(m.data(), bytes.data() + start, bytes.size() - start);
  return m;
}

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ria_cli_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    // The cache stands beside the working folder, so that listings show outputs only.
    base_ = pattern;
    folder_ = base_ / "work";
    cache_ = base_ / "cache" / "ria";
    fs::create_directories(folder_);
    at_.folder = folder_;
    at_.env["XDG_CACHE_HOME"] = (base_ / "cache").string();
  }
  void TearDown() override { fs::remove_all(base_); }

  Result ria(const Args& args) const { return Program(kProgram, args, at_).wait(); }

  /// Runs what must work; returns its standard output.
  std::string works(const Args& args) const {
    const Result result = ria(args);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(complaints(result.err), Args{});
    return result.out;
  }

  /// Runs what must be refused: this exit code, one line with all these parts, no file made,
  /// changed or left.
  void refused(int exit_code, const Args& args, const Args& parts) const {
    SCOPED_TRACE(fmt::format("ria {}", fmt::join(args, " ")));
    const auto before = contents();
    const Result result = ria(args);
    EXPECT_EQ(result.exit_code, exit_code);
    const auto said = complaints(result.err);
    ASSERT_EQ(said.size(), 1u) << result.err;
    EXPECT_TRUE(said[0].starts_with("ria: ")) << said[0];
    for (const std::string& part : parts) EXPECT_NE(said[0].find(part), said[0].npos) << said[0];
    EXPECT_EQ(contents(), before);
    EXPECT_EQ(unfinished(), 0);
  }

  /// Every file below the working folder with a hash of what it holds, and every folder.
  std::map<std::string, std::size_t> contents() const {
    std::map<std::string, std::size_t> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = fs::relative(entry.path(), folder_).string();
      all[name] = entry.is_regular_file() ? std::hash<std::string>()(slurp(entry.path())) : 0;
    }
    return all;
  }

  int unfinished() const {
    std::error_code none;
    const fs::directory_iterator files(cache_ / "unfinished", none);
    return static_cast<int>(std::distance(begin(files), end(files)));
  }

  /// A folder of `count` pictures, p000.png and so on; returns its name.
  std::string pictures(const std::string& name = "pictures", int count = 4) const {
    fs::create_directories(folder_ / name);
    for (int i = 0; i < count; ++i) {
      const fs::path file = folder_ / name / fmt::format("p{:03}.png", i);
      if (i < 4) {
        save_image(file, street()[i]);
      } else {
        fs::copy_file(folder_ / name / fmt::format("p{:03}.png", i % 4), file);
      }
    }
    return name;
  }

  std::string index(const Args& method = kFast, const std::string& name = "places.ria") const {
    works(Args{"index", "build", pictures(), "--out", name} + method);
    return name;
  }

  fs::path base_, folder_, cache_;
  Surroundings at_;
};

// ---- pictures

TEST_F(CliTest, MissingOrEmptyFolderIsNamed) {
  fs::create_directory(folder_ / "empty");
  for (const std::string name : {"empty", "nowhere"}) {
    refused(1, Args{"describe", name, "--out", "x.npy"} + kFast, {name});
    refused(1, Args{"index", "build", name, "--out", "x.ria"} + kFast, {name});
  }
  const std::string places = index();
  refused(1, {"query", places, "empty"}, {"empty"});
  refused(1, {"query", places, "nowhere"}, {"nowhere"});
  refused(1,
          Args{"eval", "--database_folder", "empty", "--queries_folder", "pictures"} + kFast,
          {"empty"});
}

TEST_F(CliTest, BadPictureIsSkippedReportedAndCounted) {
  spill(folder_ / pictures() / "text.jpg", "no picture");
  for (const Args& command : {Args{"describe", "pictures", "--out", "x.npy"},
                              Args{"index", "build", "pictures", "--out", "x.ria"}}) {
    const Result result = ria(command + kFast);
    EXPECT_EQ(result.exit_code, 0);
    const auto said = complaints(result.err);
    ASSERT_EQ(said.size(), 2u) << result.err;
    EXPECT_NE(said[0].find("pictures/text.jpg"), said[0].npos) << said[0];
    EXPECT_EQ(said[1], "ria: 1 of 5 pictures were skipped");
  }
  EXPECT_EQ(read_rows(folder_ / "x.npy").rows(), 4);
  EXPECT_EQ(slurp(folder_ / "x.names.txt"), "p000.png\np001.png\np002.png\np003.png\n");
  EXPECT_EQ(Index::load(folder_ / "x.ria").size(), 4);
}

TEST_F(CliTest, OnlyBadPicturesIsAnError) {
  spill(folder_ / "bad" / "a.jpg", "no picture");
  spill(folder_ / "bad" / "b.png", "");
  refused(
      1, Args{"describe", "bad", "--out", "x.npy"} + kFast, {"none of 2 pictures", "bad/a.jpg"});
  refused(1, Args{"index", "build", "bad", "--out", "x.ria"} + kFast, {"none of 2", "bad/a.jpg"});
  refused(1, {"query", index(), "bad"}, {"none of 2 pictures", "bad/a.jpg"});
  refused(1,
          Args{"index", "build", "bad", "--out", "x.ria", "--projection", "pca"} + kFastRia,
          {"bad"});
}

TEST_F(CliTest, TruncatedJpegIsSkipped) {
  save_image(folder_ / pictures() / "whole.jpg", street()[0]);
  const std::string whole = slurp(folder_ / "pictures" / "whole.jpg");
  spill(folder_ / "pictures" / "half.jpg", whole.substr(0, whole.size() / 2));
  spill(folder_ / "pictures" / "head.jpg", whole.substr(0, 20));
  const Result result = ria(Args{"describe", "pictures", "--out", "x.npy"} + kFast);
  EXPECT_EQ(result.exit_code, 0);
  const auto said = complaints(result.err);
  ASSERT_EQ(said.size(), 3u) << result.err;
  EXPECT_NE(said[0].find("half.jpg"), said[0].npos) << said[0];
  EXPECT_NE(said[1].find("head.jpg"), said[1].npos) << said[1];
  EXPECT_EQ(said[2], "ria: 2 of 7 pictures were skipped");
}

TEST_F(CliTest, PicturesOfAnyShapeAreDescribed) {
  const auto flat = [](int height, int width) {
    return Image{height, width, std::vector<std::uint8_t>(3u * height * width, 90)};
  };
  fs::create_directory(folder_ / "odd");
  save_image(folder_ / "odd" / "dot.png", flat(1, 1));
  save_image(folder_ / "odd" / "wide.png", flat(30, 20000));
  save_image(folder_ / "odd" / "tall.png", flat(20000, 30));
  for (const std::string method : {"rootsift-ria", "rootsift-gem"}) {
    works({"describe", "odd", "--out", "x.npy", "--method", method});
    const Matrix rows = read_rows(folder_ / "x.npy");
    EXPECT_EQ(rows.rows(), 3);
    EXPECT_TRUE(rows.allFinite()) << method;
  }
  // No gradient anywhere: the mean is the zero vector, which has no direction.
  refused(1,
          {"describe", "odd", "--out", "y.npy", "--method", "rootsift-mean"},
          {"none of 3 pictures", "odd/dot.png", "zero"});
}

TEST_F(CliTest, OnePictureHasOneDescriptorInEveryEncoding) {
  const fs::path folder = folder_ / "odd";
  spill(folder / "a_rgb.png", cli_test::kRgbPng);
  spill(folder / "b_alpha.png", cli_test::kAlphaPng);
  spill(folder / "c_deep.png", cli_test::kDeepPng);
  spill(folder / "d_grey.png", cli_test::kGreyPng);
  spill(folder / "e_cmyk.jpg", cli_test::kCmykJpeg);
  works(Args{"describe", "odd", "--out", "x.npy"} + kFastRia);
  const Matrix rows = read_rows(folder_ / "x.npy");
  ASSERT_EQ(rows.rows(), 5);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(rows.row(i), rows.row(0)) << i;
  EXPECT_GT(rows.row(4).dot(rows.row(0)), 0.9f);
}

TEST_F(CliTest, NameThatIsNotUtf8DoesNotStopTheRun) {
  save_image(folder_ / pictures() / "caf\xe9.png", street()[1]);
  works(Args{"index", "build", "pictures", "--out", "x.ria"} + kFast);
  const json answers = json::parse(works({"query", "x.ria", "pictures", "--json"}), nullptr, false);
  EXPECT_EQ(answers.size(), 5u);
  works(Args{"describe", "pictures", "--out", "x.npy"} + kFast);
  EXPECT_NE(slurp(folder_ / "x.names.txt").find("caf\xe9.png\n"), std::string::npos);
}

// ---- weights

TEST_F(CliTest, MissingWeightsSayHowToAddThem) {
  pictures();
  refused(1,
          {"describe", "pictures", "--out", "x.npy", "--method", "resnet50-gem"},
          {"resnet50", (cache_ / "weights" / "resnet50.safetensors").string(), "./run weights"});
  refused(1, {"demo", "--places", "2"}, {"resnet50", "./run weights"});
  const Args describe = {"describe", "pictures", "--out", "x.npy", "--method", "resnet50-gem"};
  refused(1, describe + Args{"--weights", "nowhere.safetensors"}, {"nowhere.safetensors"});
  spill(folder_ / "text.safetensors", "no weights");
  refused(1, describe + Args{"--weights", "text.safetensors"}, {"text.safetensors", "expected"});
}

TEST_F(CliTest, DamagedWeightsInTheCacheAreNamed) {
  pictures();
  const fs::path file = cache_ / "weights" / "resnet50.safetensors";
  const Args describe = {"describe", "pictures", "--out", "x.npy", "--method", "resnet50-ria"};
  spill(file, "half a download");
  refused(1, describe, {"resnet50.json", "missing", "./run weights"});
  spill(cache_ / "weights" / "resnet50.json", "{");
  refused(1, describe, {"resnet50.json", "damaged", "./run weights"});
  spill(cache_ / "weights" / "resnet50.json", R"({"sha256": "00"})");
  refused(1, describe, {file.string(), "corrupted", "sha256", "./run weights"});
  EXPECT_NE(works({"weights", "list"}).find("corrupted"), std::string::npos);
}

TEST_F(CliTest, WeightFilesThatAreNoneAreRefused) {
  spill(folder_ / "text.pth", "no weights");
  for (const std::string action : {"info", "add"}) {
    refused(1, {"weights", action, "nowhere.pth"}, {"nowhere.pth"});
    refused(1, {"weights", action, "text.pth"}, {"text.pth", "expected"});
  }
  EXPECT_FALSE(fs::exists(cache_ / "weights"));
}

TEST_F(CliTest, RealWeightsFindAPictureAgain) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  at_.env.erase("XDG_CACHE_HOME");
  const std::string list = works({"weights", "list"});
  if (list.find("present: ") == std::string::npos) {
    GTEST_SKIP() << "weights resnet50 are not in " << (cache ? cache : "~/.cache")
                 << ": run ./run weights";
  }
  const Args small = {"--method", "resnet50-ria", "--longest_side", "160"};
  works(Args{"index", "build", pictures(), "--out", "x.ria"} + small);
  const json answers = json::parse(works({"query", "x.ria", "pictures/p002.png", "--json"}));
  EXPECT_EQ(answers[0]["matches"][0]["place"], "p002.png");
  EXPECT_NEAR(answers[0]["matches"][0]["score"], 1.0, 1e-4);
}

// ---- indexes

TEST_F(CliTest, IndexOfAnotherMethodIsRefused) {
  refused(1,
          {"query", index(), "pictures", "--method", "rootsift-ria"},
          {"places.ria", "rootsift-gem", "rootsift-ria"});
}

TEST_F(CliTest, IndexCutShortIsRefusedAtEveryLength) {
  const std::string whole = slurp(folder_ / index());
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
    IndexHeader header = recognizer.header();
    change(header);
    Index index(header);
    index.add(Matrix(recognizer.describe(street()[0]).transpose()), {"p000.png"});
    index.save(folder_ / name);
  };
  save("weights.ria", [](IndexHeader& header) { header.weights_sha256 = "0123abcd"; });
  refused(1, {"query", "weights.ria", "pictures"}, {"weights.ria", "0123abcd"});
  save("method.ria", [](IndexHeader& header) { header.method = "telepathy"; });
  refused(1, {"query", "method.ria", "pictures"}, {"method.ria", "telepathy", "rootsift-gem"});
  save("options.ria", [](IndexHeader& header) { header.options = R"({"mood": 1})"; });
  refused(1, {"query", "options.ria", "pictures"}, {"options.ria", "mood"});
  save("dim.ria", [](IndexHeader& header) { header.method = "rootsift-ria"; });
  refused(1, {"query", "dim.ria", "pictures"}, {"dim.ria", "128"});
}

// ---- usage

TEST_F(CliTest, WrongUsageExitsWithTwo) {
  pictures();
  refused(2, {}, {"subcommand"});
  refused(2, {"guess"}, {"guess"});
  refused(2, {"index"}, {"subcommand"});
  refused(2, {"index", "burn"}, {"burn"});
  refused(2, {"describe"}, {"paths"});
  refused(2, {"describe", "pictures"}, {"--out"});
  refused(2, {"describe", "pictures", "--out", "x.npy", "--frobnicate"}, {"--frobnicate"});
  refused(2, {"describe", "pictures", "--out", "x.txt"}, {"--out", "x.txt", ".npy", ".h5"});
  refused(2, {"eval"}, {"--dataset"});
  refused(2, {"eval", "--database_folder", "pictures"}, {"--queries_folder"});
  refused(2, {"query", "x.ria", "pictures", "--json", "--csv"}, {"--json", "--csv"});
  refused(2, {"query", "x.ria", "pictures", "-k", "0"}, {"-k", "0", "at least 1"});
  refused(2, {"simulate", "street", "--places", "0"}, {"places", "0"});
  refused(2, {"simulate", "street", "--query_condition", "fog"}, {"fog", "night"});
}

TEST_F(CliTest, UnknownMethodListsTheKnown) {
  pictures();
  for (const Args& command : {Args{"describe", "pictures", "--out", "x.npy"},
                              Args{"index", "build", "pictures", "--out", "x.ria"},
                              Args{"eval", "--dataset", "gt.json"}}) {
    Args parts = {"telepathy"};
    for (const Method& method : methods()) parts.push_back(method.name);
    refused(2, command + Args{"--method", "telepathy"}, parts);
  }
}

TEST_F(CliTest, BadOptionValueNamesFlagAndValue) {
  pictures();
  const std::vector<std::array<std::string, 3>> bad = {{"--d", "0", "at least 1"},
                                                       {"--d", "129", "128"},
                                                       {"--d", "many", "d"},
                                                       {"--alpha", "2", "(0, 1]"},
                                                       {"--alpha", "0", "(0, 1]"},
                                                       {"--tau", "-1", "from 0 up"},
                                                       {"--eps", "nan", "from 0 up"},
                                                       {"--iterations", "0", "at least 1"},
                                                       {"--estimator", "nonsense", "ledoit_wolf"},
                                                       {"--mapping", "nonsense", "newton_schulz"},
                                                       {"--gem_sign", "nonsense", "clamp"},
                                                       {"--p", "0", "above 0"},
                                                       {"--normalize_patches", "maybe", "true"},
                                                       {"--image_size", "0", "at least 1"},
                                                       {"--longest_side", "-5", "longest_side"},
                                                       {"--resize", "nonsense", "pil_bilinear"},
                                                       {"--stage", "9", "1 to 5"},
                                                       {"--num_threads", "-1", "0 (all)"}};
  for (const auto& [flag, value, expected] : bad) {
    refused(2,
            {"describe", "pictures", "--out", "x.npy", "--method", "rootsift-ria", flag, value},
            {flag.substr(2), value, expected});
  }
}

// --image_size takes one number or two, so what follows it may be taken for the second.
TEST_F(CliTest, PathAfterImageSizeIsDescribedOrTheFlagIsNamed) {
  const Args gem = {"--method", "rootsift-gem"};
  works(Args{"describe", pictures(), "--out", "x.npy", "--image_size", "48", "64"} + gem);
  EXPECT_EQ(read_rows(folder_ / "x.npy").rows(), 4);
  works(Args{"describe"} + gem + Args{"--out", "x.npy", "--image_size", "64", "pictures"});
  EXPECT_EQ(read_rows(folder_ / "x.npy").rows(), 4);
  refused(2,
          {"describe", "--image_size", "64", "pictures", "--out", "y.npy"},
          {"--image_size", "pictures"});
}

/// Whether the word stands in the text, not only the beginning of a longer one.
bool mentions(const std::string& text, const std::string& word) {
  for (auto at = text.find(" " + word); at != text.npos; at = text.find(" " + word, at + 1)) {
    const char next = text[at + 1 + word.size()];
    if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_') return true;
  }
  return false;
}

// Every subcommand's flags; a new flag belongs here and in --help.
TEST_F(CliTest, HelpMentionsEveryFlag) {
  const Args runtime = {"--weights", "--num_threads"};
  const Args method = Args{"--method",
                           "--d",
                           "--projection",
                           "--seed",
                           "--normalize_patches",
                           "--estimator",
                           "--tau",
                           "--eps",
                           "--mapping",
                           "--iterations",
                           "--alpha",
                           "--p",
                           "--gem_sign",
                           "--gem_eps",
                           "--image_size",
                           "--longest_side",
                           "--native_size",
                           "--resize",
                           "--stage"} +
                      runtime;
  const Args street = {"--places",
                       "--spacing",
                       "--lateral_offset",
                       "--heading_offset",
                       "--database_condition",
                       "--query_condition",
                       "--height",
                       "--width",
                       "--seed",
                       "--num_threads"};
  const std::vector<std::pair<Args, Args>> all = {
      {{}, {"describe", "index", "query", "eval", "methods", "weights", "simulate", "demo"}},
      {{"describe"}, method + Args{"paths", "--out"}},
      {{"index"}, {"build", "info"}},
      {{"index", "build"}, method + Args{"folder", "--out"}},
      {{"index", "info"}, {"index"}},
      {{"query"}, runtime + Args{"index", "path", "-k", "--json", "--csv", "--pairs", "--method"}},
      {{"eval"},
       method + Args{"--dataset",
                     "--database_folder",
                     "--queries_folder",
                     "--positive_dist_threshold",
                     "--recall_values",
                     "--json"}},
      {{"methods"}, {"--json"}},
      {{"weights"}, {"list", "info", "add"}},
      {{"weights", "list"}, {"-h,--help"}},
      {{"weights", "info"}, {"file"}},
      {{"weights", "add"}, {"file", "--name"}},
      {{"simulate"}, street + Args{"folder"}},
      {{"demo"}, street + Args{"--out", "--backbone"}}};
  for (const auto& [command, flags] : all) {
    SCOPED_TRACE(fmt::format("ria {} --help", fmt::join(command, " ")));
    const std::string help = works(command + Args{"--help"});
    for (const std::string& flag : flags) {
      EXPECT_TRUE(mentions(help, flag)) << flag << " is not in\n" << help;
    }
  }
}

TEST_F(CliTest, VersionAndMethodsArePrinted) {
  EXPECT_EQ(works({"--version"}), fmt::format("ria {}\n", RIA_VERSION));
  const std::string text = works({"methods"});
  const json list = json::parse(works({"methods", "--json"}));
  ASSERT_EQ(list.size(), methods().size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["name"], methods()[i].name);
    EXPECT_NE(text.find(methods()[i].name), text.npos);
  }
}

// ---- outputs that cannot be written

TEST_F(CliTest, OutputInNoFolderIsRefused) {
  pictures();
  spill(
      folder_ / "gt.json",
      R"({"queries": ["pictures/p000.png"], "database": ["pictures/p000.png"], "positives": [[0]]})");
  spill(folder_ / "file.txt", "");
  fs::create_directory(folder_ / "taken.npy");
  for (const std::string folder : {"nowhere/", "file.txt/"}) {
    for (const std::string name : {"x.npy", "x.h5"}) {
      refused(1, Args{"describe", "pictures", "--out", folder + name} + kFast, {folder + "x."});
    }
    refused(1,
            Args{"index", "build", "pictures", "--out", folder + "x.ria"} + kFast,
            {folder + "x.ria"});
    refused(1,
            Args{"eval", "--dataset", "gt.json", "--json", folder + "x.json"} + kFast,
            {folder + "x.json"});
  }
  refused(1, Args{"describe", "pictures", "--out", "taken.npy"} + kFast, {"taken.npy"});
  refused(1, {"simulate", "file.txt/street", "--places", "2"}, {"file.txt/street"});
  refused(1,
          {"demo", "--backbone", "rootsift", "--places", "2", "--out", "file.txt/demo"},
          {"file.txt/demo"});
}

TEST_F(CliTest, NoSpaceLeavesNothingBehind) {
  const Args method = {"--method", "rootsift-ria", "--longest_side", "64"};  // 2080 dims
  pictures();
  at_.file_size_limit = 8192;
  refused(1, Args{"describe", "pictures", "--out", "x.npy"} + method, {"x.npy"});
  refused(1, Args{"describe", "pictures", "--out", "x.h5"} + method, {"x.h5"});
  refused(1, Args{"index", "build", "pictures", "--out", "x.ria"} + method, {"x.ria"});
  at_.file_size_limit = 2048;
  refused(1, {"simulate", "street", "--places", "2"}, {"street"});
}

TEST_F(CliTest, NoSpaceKeepsTheOldOutput) {
  pictures();
  const Args describe = {
      "describe", "pictures", "--method", "rootsift-ria", "--longest_side", "64"};
  works(describe + Args{"--out", "x.npy"});
  works(describe + Args{"--out", "x.h5"});
  fs::remove(folder_ / "pictures" / "p000.png");
  at_.file_size_limit = 8192;
  refused(1, describe + Args{"--out", "x.npy"}, {"x.npy"});
  refused(1, describe + Args{"--out", "x.h5"}, {"x.h5"});
}

TEST_F(CliTest, AnswersThatCannotBePrintedAreAnError) {
  const std::string places = index();
  at_.stdout_file = "/dev/full";
  refused(1, {"query", places, "pictures/p000.png"}, {"No space left"});
  refused(1, {"methods", "--json"}, {"No space left"});
}

// ---- describe

TEST_F(CliTest, NpyHoldsTheLibrarysDescriptors) {
  pictures();
  EXPECT_EQ(works({"describe",
                   "pictures",
                   "--out",
                   "x.npy",
                   "--method",
                   "rootsift-ria",
                   "--d",
                   "24",
                   "--seed",
                   "3"}),
            "x.npy: 4 descriptors of 300 dims by rootsift-ria\n");
  MethodOptions options;
  options.ria.d = 24;
  options.ria.seed = 3;
  const Recognizer recognizer("rootsift-ria", options);
  const Matrix rows = read_rows(folder_ / "x.npy");
  ASSERT_EQ(rows.rows(), 4);
  ASSERT_EQ(rows.cols(), 300);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(rows.row(i).isApprox(recognizer.describe(street()[i]).transpose(), 1e-5f)) << i;
    EXPECT_NEAR(rows.row(i).norm(), 1, 1e-5);
  }
  const json record = json::parse(slurp(folder_ / "x.json"));
  EXPECT_EQ(record["method"], "rootsift-ria");
  EXPECT_EQ(record["dim"], 300);
  EXPECT_EQ(record["count"], 4);
  EXPECT_EQ(record["weights_sha256"], "");
  EXPECT_EQ(record["ria_version"], RIA_VERSION);
  EXPECT_EQ(record["options"]["d"], 24);
  EXPECT_EQ(record["options"]["seed"], 3);
  EXPECT_EQ(slurp(folder_ / "x.names.txt"), "p000.png\np001.png\np002.png\np003.png\n");
}

TEST_F(CliTest, H5IsWritten) {
  works(Args{"describe", pictures(), "--out", "x.h5"} + kFast);
  const std::string bytes = slurp(folder_ / "x.h5");
  EXPECT_TRUE(bytes.starts_with("\x89HDF\r\n\x1a\n"));
  for (const char* part : {"global_descriptor", "image_size", "p003.png", "rootsift-gem"}) {
    EXPECT_NE(bytes.find(part), bytes.npos) << part;
  }
  EXPECT_EQ(contents().size(), 4u + 2u);  // pictures, their folder, x.h5
}

TEST_F(CliTest, SeveralPathsAreDescribedInTheirOrder) {
  pictures();
  for (const std::string name : {"x.npy", "x.h5"}) {  // hloc's files know each name once
    works(Args{"describe", "pictures/p002.png", "pictures", "--out", name} + kFast);
  }
  EXPECT_TRUE(slurp(folder_ / "x.names.txt").starts_with("pictures/p002.png\npictures/p000.png\n"));
  const Matrix rows = read_rows(folder_ / "x.npy");
  ASSERT_EQ(rows.rows(), 5);
  EXPECT_EQ(rows.row(0), rows.row(3));
}

TEST_F(CliTest, SameSeedSameBitsOnAnyNumberOfThreads) {
  pictures();
  const Args endings = {".npy", ".names.txt", ".json"};
  for (const std::string method : {"rootsift-ria", "rootsift-gem"}) {
    for (const std::string path : {"pictures", "pictures/p001.png"}) {
      for (const std::string threads : {"1", "2"}) {
        works({"describe",
               path,
               "--out",
               "x" + threads + ".npy",
               "--method",
               method,
               "--num_threads",
               threads});
      }
      works({"describe", path, "--out", "again.npy", "--method", method});
      for (const std::string& ending : endings) {
        const std::string one = slurp(folder_ / ("x1" + ending));
        EXPECT_FALSE(one.empty());
        for (const char* other : {"x2", "again"}) {
          EXPECT_TRUE(slurp(folder_ / (other + ending)) == one)
              << method << " " << path << " " << other;
        }
      }
    }
  }
}

// The cache only keeps unfinished work: a run must not need it.
TEST_F(CliTest, RunWithoutACacheFolderStillWorks) {
  pictures();
  spill(base_ / "file.txt", "");
  at_.env["XDG_CACHE_HOME"] = (base_ / "file.txt" / "cache").string();
  works(Args{"describe", "pictures", "--out", "x.npy"} + kFast);
  at_.env["XDG_CACHE_HOME"] = at_.env["HOME"] = "";
  works(Args{"describe", "pictures", "--out", "y.npy"} + kFast);
  EXPECT_TRUE(slurp(folder_ / "x.npy") == slurp(folder_ / "y.npy"));
}

TEST_F(CliTest, AnotherSeedGivesOtherBits) {
  const Args describe = Args{"describe", pictures()} + kFastRia;
  works(describe + Args{"--out", "a.npy"});
  works(describe + Args{"--out", "b.npy", "--seed", "43"});
  EXPECT_NE(slurp(folder_ / "a.npy"), slurp(folder_ / "b.npy"));
}

// ---- index and query

TEST_F(CliTest, IndexInfoSaysWhatMadeIt) {
  const std::string info = works({"index", "info", index(kFastRia)});
  for (const char* part : {"places.ria", "rootsift-ria", "136", "\"d\":16", RIA_VERSION}) {
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
  Matrix picked = Matrix::Identity(128, 8);
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

// ---- eval, simulate, demo

TEST_F(CliTest, EvalMeasuresSeveralMethodsOnSimulatedDrives) {
  const std::string made =
      works({"simulate", "street", "--places", "6", "--width", "160", "--height", "120"});
  EXPECT_EQ(made, "street/database\nstreet/queries\n");
  const auto said = lines(works({"eval",
                                 "--database_folder",
                                 "street/database",
                                 "--queries_folder",
                                 "street/queries",
                                 "--json",
                                 "x.json",
                                 "--method",
                                 "rootsift-ria",
                                 "--method",
                                 "rootsift-gem"}));
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0], "street/queries in street/database: 6 queries, 6 places");
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_TRUE(testing::internal::RE::FullMatch(
        said[i], "rootsift-(ria|gem): R@1: [0-9.]+, R@5: [0-9.]+, R@10: [0-9.]+, R@20: [0-9.]+"))
        << said[i];
  }
  const json results = json::parse(slurp(folder_ / "x.json"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["method"], "rootsift-ria");
  EXPECT_EQ(results[1]["method"], "rootsift-gem");
  for (const json& result : results) {
    for (const char* key :
         {"method", "dataset", "queries", "database", "dim", "recall", "seconds", "options"}) {
      EXPECT_TRUE(result.contains(key)) << key;
    }
    EXPECT_EQ(result["queries"], 6);
    EXPECT_EQ(result["database"], 6);
    EXPECT_EQ(result["recall"].size(), 4u);
    EXPECT_EQ(result["recall"]["20"], 100.0);
  }
}

TEST_F(CliTest, EvalReadsGroundTruth) {
  pictures();
  json truth = {{"positives", std::vector<std::vector<int>>{{0}, {1}, {0}, {}}}};
  for (int i = 0; i < 4; ++i) {
    truth["database"].push_back(fmt::format("pictures/p{:03}.png", i));
    truth["queries"].push_back(fmt::format("pictures/p{:03}.png", i));
  }
  spill(folder_ / "gt.json", truth.dump());
  const Args eval = Args{"eval", "--dataset", "gt.json"} + kFast;
  const auto said = lines(works(eval));  // query 2's right place comes later, query 3 has none
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "work: 4 queries, 4 places");
  EXPECT_EQ(said[1], "rootsift-gem: R@1: 50.0, R@5: 75.0, R@10: 75.0, R@20: 75.0");
  const auto one = lines(works(eval + Args{"--recall_values", "1", "2", "--json", "-"}));
  EXPECT_TRUE(one[1].starts_with("rootsift-gem: R@1: 50.0, R@2: ")) << one[1];
  EXPECT_EQ(one[2], "[");
  refused(2, eval + Args{"--recall_values", "0"}, {"--recall_values", "0", "at least 1"});
}

TEST_F(CliTest, BadGroundTruthIsRefused) {
  pictures();
  const std::string p = R"(["pictures/p000.png"])";
  const std::vector<std::array<std::string, 2>> bad = {
      {"not JSON", "expected"},
      {"[]", "expected"},
      {"", "expected"},
      {R"({"queries": )" + p + "}", "expected"},
      {R"({"queries": 7, "database": )" + p + R"(, "positives": [[0]]})", "expected"},
      {R"({"queries": [], "database": [], "positives": []})", "no pictures"},
      {R"({"queries": )" + p + R"(, "database": )" + p + R"(, "positives": [[1]]})", "past"},
      {R"({"queries": )" + p + R"(, "database": )" + p + R"(, "positives": [[-1]]})", "past"},
      {R"({"queries": )" + p + R"(, "database": )" + p + R"(, "positives": [[0], []]})", "2 lists"},
      {R"({"queries": )" + p + R"(, "database": )" + p + R"(, "positives": ["0"]})", "expected"}};
  for (const auto& [text, expected] : bad) {
    SCOPED_TRACE(text);
    spill(folder_ / "gt.json", text);
    refused(1, Args{"eval", "--dataset", "gt.json"} + kFast, {"gt.json", expected});
  }
  refused(1, Args{"eval", "--dataset", "nowhere.json"} + kFast, {"nowhere.json"});
  refused(1,
          Args{"eval", "--database_folder", "pictures", "--queries_folder", "pictures"} + kFast,
          {"pictures/p000.png", "@east@north@"});
}

TEST_F(CliTest, DemoWithoutWeightsWritesAReport) {
  const std::string said = works({"demo",
                                  "--backbone",
                                  "rootsift",
                                  "--places",
                                  "3",
                                  "--width",
                                  "160",
                                  "--height",
                                  "120",
                                  "--out",
                                  "made"});
  EXPECT_NE(said.find("report: made/report.html\n"), said.npos) << said;
  EXPECT_NE(slurp(folder_ / "made" / "report.html").find("rootsift-ria"), std::string::npos);
  refused(2, {"demo", "--backbone", "telepathy"}, {"telepathy", "rootsift"});
}

// ---- interruptions

class InterruptTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    pictures("pictures", kPictures);
    at_.terminal = true;
  }

  Args describe(const std::string& name, const std::string& longest_side) const {
    return {"describe",
            "pictures",
            "--out",
            name,
            "--method",
            "rootsift-ria",
            "--longest_side",
            longest_side};
  }

  /// Whether x.npy and its companions are those of a run that nobody disturbed.
  void expect_undisturbed(const std::string& longest_side) {
    EXPECT_EQ(unfinished(), 0);
    at_.terminal = false;
    works(describe("calm.npy", longest_side));
    for (const std::string ending : {".npy", ".names.txt", ".json"}) {
      const std::string calm = slurp(folder_ / ("calm" + ending));
      EXPECT_FALSE(calm.empty());
      EXPECT_TRUE(slurp(folder_ / ("x" + ending)) == calm) << ending;
    }
  }

  static constexpr int kPictures = 150;
  const Args kOneThread = {"--num_threads", "1"};  // slow enough to be caught in the middle
};

TEST_F(InterruptTest, CtrlCStopsCleanlyAndTheNextRunGoesOn) {
  const auto before = contents();
  Program program(kProgram, describe("x.npy", "320") + kOneThread, at_);
  ASSERT_TRUE(program.wait_for("describing "));
  program.send(SIGINT);
  const Result result = program.wait();
  EXPECT_EQ(result.exit_code, 130);
  const std::string last = lines(result.err).back();
  int done = 0, total = 0;
  const std::size_t at = last.find("ria: interrupted");
  ASSERT_NE(at, last.npos) << result.err;
  ASSERT_EQ(std::sscanf(last.c_str() + at, "ria: interrupted after %d of %d", &done, &total), 2);
  EXPECT_GT(done, 0);
  EXPECT_LT(done, total);
  EXPECT_EQ(total, kPictures);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(unfinished(), 1);
  // Half a record at the end, as a crash leaves it, does no harm.
  for (const auto& entry : fs::directory_iterator(cache_ / "unfinished")) {
    std::ofstream(entry.path(), std::ios::app | std::ios::binary) << "half a record";
  }
  Program again(kProgram, describe("x.npy", "320") + kOneThread, at_);
  ASSERT_TRUE(again.wait_for("describing "));
  const Result resumed = again.wait();
  EXPECT_EQ(resumed.exit_code, 0);
  const std::string& shown = resumed.err;
  int first = 0;
  std::sscanf(shown.c_str() + shown.find("describing "), "describing %d/", &first);
  EXPECT_GT(first, done);  // went on, did not start over
  expect_undisturbed("320");
}

TEST_F(InterruptTest, KilledRunDoesNoDamage) {
  const auto before = contents();
  Program program(kProgram, describe("x.npy", "520") + kOneThread, at_);
  for (int i = 0; i < 200 && unfinished() == 0 && !program.ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (program.ended()) GTEST_SKIP() << "the run ended before anything was kept: too fast to kill";
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().exit_code, 128 + SIGKILL);
  EXPECT_EQ(unfinished(), 1);
  EXPECT_EQ(contents(), before);
  at_.terminal = false;
  works(describe("x.npy", "520"));
  expect_undisturbed("520");
}

}  // namespace
}  // namespace ria
