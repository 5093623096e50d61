// SPDX-License-Identifier: MIT
// `ria` and pictures that are missing, odd or damaged.
#include <nlohmann/json.hpp>

#include "cli/fixture.h"
#include "cli/odd_pictures.h"
#include "ria/eigen.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

template <std::size_t N>
std::string_view text_of(const std::uint8_t (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

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
  EXPECT_EQ(read_text(folder_ / "x.names.txt"), "p000.png\np001.png\np002.png\np003.png\n");
  EXPECT_EQ(Map::open(folder_ / "x.ria").size(), 4);
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
  const std::string whole = read_text(folder_ / "pictures" / "whole.jpg");
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
    EXPECT_TRUE(as_eigen(rows).allFinite()) << method;
  }
  // No gradient anywhere: the mean is the zero vector, which has no direction.
  refused(1,
          {"describe", "odd", "--out", "y.npy", "--method", "rootsift-mean"},
          {"none of 3 pictures", "odd/dot.png", "zero"});
}

TEST_F(CliTest, OnePictureHasOneDescriptorInEveryEncoding) {
  const fs::path folder = folder_ / "odd";
  spill(folder / "a_rgb.png", text_of(kRgbPng));
  spill(folder / "b_alpha.png", text_of(kAlphaPng));
  spill(folder / "c_deep.png", text_of(kDeepPng));
  spill(folder / "d_grey.png", text_of(kGreyPng));
  spill(folder / "e_cmyk.jpg", text_of(kCmykJpeg));
  works(Args{"describe", "odd", "--out", "x.npy"} + kFastRia);
  const Matrix rows = read_rows(folder_ / "x.npy");
  ASSERT_EQ(rows.rows(), 5);
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(std::ranges::equal(rows.row(i), rows.row(0))) << i;
  EXPECT_GT(as_eigen(rows.row(4)).dot(as_eigen(rows.row(0))), 0.9f);
}

TEST_F(CliTest, NameThatIsNotUtf8DoesNotStopTheRun) {
  save_image(folder_ / pictures() / "caf\xe9.png", street()[1]);
  works(Args{"index", "build", "pictures", "--out", "x.ria"} + kFast);
  const json answers = json::parse(works({"query", "x.ria", "pictures", "--json"}), nullptr, false);
  EXPECT_EQ(answers.size(), 5u);
  works(Args{"describe", "pictures", "--out", "x.npy"} + kFast);
  EXPECT_NE(read_text(folder_ / "x.names.txt").find("caf\xe9.png\n"), std::string::npos);
}

}  // namespace
}  // namespace ria::cli_test
