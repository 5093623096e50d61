// SPDX-License-Identifier: MIT
#include "ria/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stop_token>

namespace ria {
namespace {

namespace fs = std::filesystem;

constexpr int kHeight = 90, kWidth = 120;

/// An empty folder that is gone when the test ends.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "ria_simulate_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  operator const fs::path&() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

Image view(double north, Condition condition = Condition::kDay, std::uint64_t seed = 42) {
  return render_street({.east = 1.75, .north = north}, condition, kHeight, kWidth, seed);
}

double brightness(const Image& image) {
  double sum = 0;
  for (const std::uint8_t v : image.rgb) sum += v;
  return sum / static_cast<double>(image.rgb.size());
}

double difference(const Image& a, const Image& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) sum += std::abs(a.rgb[i] - b.rgb[i]);
  return sum / static_cast<double>(a.rgb.size());
}

SimulateOptions small(int places = 3) {
  SimulateOptions options;
  options.places = places;
  options.height = kHeight;
  options.width = kWidth;
  return options;
}

std::string bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) all[entry.path().lexically_relative(folder)] = bytes(entry.path());
  return all;
}

std::vector<std::string> fields(const fs::path& file) {
  std::vector<std::string> parts;
  std::stringstream in(file.filename().string());
  for (std::string part; std::getline(in, part, '@');) parts.push_back(part);
  return parts;
}

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "mine";
}

TEST(RenderStreet, HasTheAskedSizeAndSomethingInIt) {
  const Image image = view(100);
  EXPECT_EQ(image.height, kHeight);
  EXPECT_EQ(image.width, kWidth);
  ASSERT_EQ(image.rgb.size(), std::size_t{kHeight} * kWidth * 3);
  double square = 0;
  const double mean = brightness(image);
  for (const std::uint8_t v : image.rgb) square += (v - mean) * (v - mean);
  EXPECT_GT(std::sqrt(square / static_cast<double>(image.rgb.size())), 20);
}

TEST(RenderStreet, SameSeedSameBitsOtherSeedOtherStreet) {
  for (const Condition c :
       {Condition::kDay, Condition::kNight, Condition::kRain, Condition::kSeason})
    EXPECT_EQ(view(250, c).rgb, view(250, c).rgb) << to_string(c);
  EXPECT_GT(difference(view(250), view(250, Condition::kDay, 43)), 10);
}

TEST(RenderStreet, NightIsDarkerThanDay) {
  for (const double north : {0.0, 333.0, 2000.0})
    EXPECT_LT(brightness(view(north, Condition::kNight)), 0.6 * brightness(view(north)));
}

TEST(RenderStreet, NearViewsAreMoreAlikeThanFarOnes) {
  double near = 0, far = 0;
  for (const double north : {100.0, 500.0, 900.0, 1300.0}) {
    near += difference(view(north), view(north + 1));
    far += difference(view(north), view(north + 200));
  }
  EXPECT_LT(near, 0.7 * far);
}

TEST(RenderStreet, SidewaysMovesNearThingsMoreThanFarOnes) {
  const auto from = [](double east) {
    return render_street({.east = east, .north = 180}, Condition::kDay, 180, 240, 42);
  };
  const Image a = from(0.25), b = from(1.75);
  const auto change = [&](int row0, int row1, int column0, int column1) {
    double sum = 0;
    for (int y = row0; y < row1; ++y)
      for (int x = column0; x < column1; ++x)
        for (int c = 0; c < 3; ++c) {
          const std::size_t at = (static_cast<std::size_t>(y) * a.width + x) * 3 + c;
          sum += std::abs(a.rgb[at] - b.rgb[at]);
        }
    return sum / ((row1 - row0) * (column1 - column0) * 3);
  };
  // The sky around the vanishing point stands still; the road at our feet does not.
  EXPECT_LT(change(0, 30, 110, 130), change(120, 180, 0, 240));
}

TEST(RenderStreet, LooksAnyWayAndFromAnywhere) {
  for (const double heading : {-90.0, 90.0, 180.0, 359.5})
    for (const double north : {-5000.0, 0.0, 100000.0})
      EXPECT_GT(
          brightness(render_street(
              {.east = 0, .north = north, .heading = heading}, Condition::kSeason, 32, 48, 7)),
          20);
}

TEST(Simulate, SameBitsForAnyNumberOfThreads) {
  Folder one, two;
  SimulateOptions options = small();
  options.num_threads = 1;
  simulate(one, options);
  options.num_threads = 2;
  simulate(two, options);
  const auto a = contents(one);
  EXPECT_EQ(a.size(), 7u);
  EXPECT_EQ(a, contents(two));
}

TEST(Simulate, NamesHoldThePoses) {
  Folder folder;
  SimulateOptions options = small(4);
  options.lateral_offset = 1.2;
  const SimulatedFolders made = simulate(folder, options);
  const auto database = list_pictures(made.database), queries = list_pictures(made.queries);
  ASSERT_EQ(database.size(), 4u);
  ASSERT_EQ(queries.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto d = fields(database[i]), q = fields(queries[i]);
    ASSERT_EQ(d.size(), 16u);
    EXPECT_EQ(d[1].size(), 10u);
    EXPECT_NEAR(std::stod(d[2]) - std::stod(fields(database[0])[2]), 10.0 * i, 1e-6);
    EXPECT_NEAR(std::abs(std::stod(q[1]) - std::stod(d[1])), 1.2, 1e-6);
    EXPECT_LT(std::abs(std::stod(q[2]) - std::stod(d[2])), 2);
    EXPECT_EQ(d[3], "32");
    EXPECT_EQ(d[4], "U");
    EXPECT_NEAR(std::stod(d[5]), 48.75, 0.05);  // 5 400 000 m north of the equator
    EXPECT_NEAR(std::stod(d[6]), 9, 1e-3);
    EXPECT_EQ(d[9], "000");
    EXPECT_EQ(d[14], "day_0.00");
    const double exact = std::stod(q[14].substr(q[14].find('_') + 1));
    EXPECT_LE(std::min(exact, 360 - exact), 4);
    EXPECT_NEAR(std::remainder(exact - std::stod(q[9]), 360), 0, 0.501);
  }
  // The picture is the one that its name's pose gives.
  const auto d = fields(database[2]);
  const Image again = render_street({.east = std::stod(d[1]) - 500000,
                                     .north = std::stod(d[2]) - 5400000,
                                     .height = std::stod(d[12])},
                                    Condition::kDay,
                                    kHeight,
                                    kWidth,
                                    options.seed);
  EXPECT_LT(difference(again, load_image(database[2])), 4);  // JPEG
}

TEST(Simulate, ReplacesItsOwnFoldersWhole) {
  Folder folder;
  simulate(folder, small(3));
  simulate(folder, small(2));
  EXPECT_EQ(contents(folder).size(), 5u);
  EXPECT_NE(bytes(folder / "simulate.json").find("\"places\": 2"), std::string::npos);
}

TEST(Simulate, RefusesForeignFolders) {
  for (const char* name : {"database", "queries"}) {
    Folder folder;
    touch(folder / name / "holiday.jpg");
    EXPECT_THROW(simulate(folder, small()), std::runtime_error);
    EXPECT_EQ(contents(folder).size(), 1u);
  }
  Folder empty;
  fs::create_directory(empty / "database");
  EXPECT_NO_THROW(simulate(empty, small(1)));
}

TEST(Simulate, AnInterruptionLeavesNothingBehind) {
  Folder folder;
  const fs::path fresh = folder / "a/b";
  std::stop_source source;
  SimulateOptions options = small(20);
  options.stop = source.get_token();
  options.progress = [&](int done, int total) {
    EXPECT_EQ(total, 40);
    if (done == 3) source.request_stop();
  };
  try {
    simulate(fresh, options);
    FAIL() << "not interrupted";
  } catch (const Interrupted& e) {
    EXPECT_GE(e.done, 3);
    EXPECT_LT(e.done, 40);
    EXPECT_EQ(e.total, 40);
  }
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(Simulate, AnInterruptionKeepsTheOldPictures) {
  Folder folder;
  simulate(folder, small(2));
  const auto before = contents(folder);
  std::stop_source source;
  source.request_stop();
  SimulateOptions options = small(5);
  options.stop = source.get_token();
  EXPECT_THROW(simulate(folder, options), Interrupted);
  EXPECT_EQ(contents(folder), before);
}

TEST(SimulateOptions, NamesTheFieldAndTheValue) {
  SimulateOptions options;
  EXPECT_NO_THROW(options.validate());
  options.spacing = -3;
  try {
    options.validate();
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("spacing is -3"), std::string::npos) << e.what();
  }
  options = {};
  options.heading_offset = std::nan("");
  EXPECT_THROW(options.validate(), std::invalid_argument);
}

TEST(Condition, NamesGoBothWays) {
  for (const Condition c :
       {Condition::kDay, Condition::kNight, Condition::kRain, Condition::kSeason})
    EXPECT_EQ(parse_condition(to_string(c)), c);
  try {
    parse_condition("fog");
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("day, night, rain, season"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace ria
