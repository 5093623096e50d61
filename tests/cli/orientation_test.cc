// SPDX-License-Identifier: MIT
// `ria` and cameras that were not held upright.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/fixture.h"
#include "support/oriented.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

/// Folders of one picture each: "turned" is a JPEG with orientation 6, "seen" what it shows and
/// "stored" what it holds.
class OrientationTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    const Image stored = stored_as(street()[0], 6);
    const auto jpeg = encode_jpeg(stored);
    const std::string bytes(jpeg.begin(), jpeg.end());
    spill(folder_ / "turned" / "a.jpg", with_exif(bytes, exif(6, true)));
    spill(folder_ / "stored" / "a.jpg", bytes);
    fs::create_directory(folder_ / "seen");
    save_image(folder_ / "seen" / "a.png", load_image(folder_ / "turned" / "a.jpg"));
  }

  Matrix described(const std::string& name, const Args& more = {}) const {
    works(Args{"describe", name, "--out", "x.npy"} + kFast + more);
    return read_rows(folder_ / "x.npy");
  }
};

TEST_F(OrientationTest, PicturesAreDescribedUprightUnlessToldOtherwise) {
  EXPECT_EQ(described("turned"), described("seen"));
  EXPECT_EQ(described("turned", {"--ignore_orientation"}), described("stored"));
  EXPECT_NE(described("stored"), described("seen"));
  works({"describe",
         "turned",
         "--out",
         "y.npy",
         "--method",
         "rootsift-gem:longest_side=64,ignore_orientation=true"});
  EXPECT_EQ(read_rows(folder_ / "y.npy"), described("stored"));
}

TEST_F(OrientationTest, QueriesAreReadAsTheIndexWas) {
  const auto score = [&](const std::string& index, const std::string& query) {
    return json::parse(works({"query", index, query, "--json"}))[0]["matches"][0]["score"]
        .get<double>();
  };
  works(Args{"index", "build", "turned", "--out", "upright.ria"} + kFast);
  works(Args{"index", "build", "turned", "--out", "stored.ria", "--ignore_orientation"} + kFast);
  EXPECT_FALSE(json::parse(Map::open(folder_ / "upright.ria").header().options)
                   .contains("ignore_orientation"));
  EXPECT_EQ(json::parse(Map::open(folder_ / "stored.ria").header().options)["ignore_orientation"],
            true);
  for (const std::string index : {"upright.ria", "stored.ria"}) {
    EXPECT_NEAR(score(index, "turned"), 1, 1e-6);
  }
  EXPECT_NEAR(score("upright.ria", "seen"), 1, 1e-6);
  EXPECT_NEAR(score("stored.ria", "stored"), 1, 1e-6);
  EXPECT_LT(score("upright.ria", "stored"), 0.999);
}

TEST_F(OrientationTest, FeaturesAreKeptApart) {
  const auto key = [](bool ignore) {
    MethodOptions options;
    options.ignore_orientation = ignore;
    return Recognizer("rootsift-gem", options).feature_key();
  };
  EXPECT_NE(key(true), key(false));
  // One run, two ways to read: the picture is decoded for each.
  const auto both = make_recognizers({"rootsift-gem", "rootsift-gem:ignore_orientation=true"});
  const std::vector<fs::path> files{folder_ / "turned" / "a.jpg"};
  RunOptions run;
  run.resume = false;
  const auto together = describe_together({both[0].get(), both[1].get()}, files, run);
  EXPECT_TRUE(std::ranges::equal(together[0].descriptors.row(0), both[0]->describe(files[0])));
  EXPECT_TRUE(std::ranges::equal(together[1].descriptors.row(0), both[1]->describe(files[0])));
  EXPECT_EQ(together[0].image_sizes[0], (std::array<int, 2>{120, 160}));
  EXPECT_EQ(together[1].image_sizes[0], (std::array<int, 2>{160, 120}));
}

}  // namespace
}  // namespace ria::cli_test
