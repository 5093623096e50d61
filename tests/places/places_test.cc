// SPDX-License-Identifier: MIT
#include "places/places.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "ria/train.h"
#include "support/error_message.h"
#include "support/spill.h"
#include "support/temporary_folder.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const TrainingSet& set, const TrainingSet::Place& place) {
  std::vector<std::string> names;
  for (const int i : place.pictures) {
    names.push_back(set.pictures[static_cast<std::size_t>(i)].filename().string());
  }
  return names;
}

/// What holds of any set: pictures in one place only, conflicts in both lists and of one group.
void expect_lawful(const TrainingSet& set, int least) {
  std::set<int> used;
  for (std::size_t p = 0; p < set.places.size(); ++p) {
    const TrainingSet::Place& place = set.places[p];
    EXPECT_GE(std::ssize(place.pictures), least);
    for (const int picture : place.pictures) EXPECT_TRUE(used.insert(picture).second);
    EXPECT_TRUE(std::is_sorted(place.conflicts.begin(), place.conflicts.end()));
    for (const int other : place.conflicts) {
      ASSERT_NE(other, static_cast<int>(p));
      const TrainingSet::Place& back = set.places.at(static_cast<std::size_t>(other));
      EXPECT_EQ(back.group, place.group);
      EXPECT_TRUE(
          std::binary_search(back.conflicts.begin(), back.conflicts.end(), static_cast<int>(p)));
    }
  }
  EXPECT_EQ(used.size(), set.pictures.size());
}

std::string at_name(double east, double north, const std::string& heading, int number) {
  return fmt::format(
      "@{:010.2f}@{:010.2f}@10@S@@@{}@@{}@@@@2015@@.jpg", east, north, number, heading);
}

TEST(FolderPlaces, AreWithinTheRadiusAndConflictWhenNear) {
  const TemporaryFolder folder;
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> metres(0, 200);
  for (int i = 0; i < 400; ++i) {
    spill(folder / at_name(metres(engine), metres(engine), "", i), "");
  }
  const PlaceOptions options;
  const TrainingSet set = places_of_folder(folder.path(), options);
  expect_lawful(set, 2);
  EXPECT_GT(set.pictures.size(), 380u);
  ASSERT_THAT(set.groups, ElementsAre(folder.path().filename().string()));
  const auto position = [&](int i) {
    return *parse_position(set.pictures[static_cast<std::size_t>(i)]);
  };
  const auto distance = [&](int i, int j) {
    return std::hypot(position(i)[0] - position(j)[0], position(i)[1] - position(j)[1]);
  };
  for (std::size_t a = 0; a < set.places.size(); ++a) {
    for (const int i : set.places[a].pictures) {
      for (const int j : set.places[a].pictures) {
        EXPECT_LE(distance(i, j), 2 * options.place_radius);
      }
    }
    for (std::size_t b = 0; b < a; ++b) {
      double nearest = 1e9;
      for (const int i : set.places[a].pictures) {
        for (const int j : set.places[b].pictures) nearest = std::min(nearest, distance(i, j));
      }
      const std::vector<int>& conflicts = set.places[a].conflicts;
      EXPECT_EQ(nearest < options.negative_distance,
                std::binary_search(conflicts.begin(), conflicts.end(), static_cast<int>(b)));
    }
  }
}

TEST(FolderPlaces, HeadingsWrapAndPartPlaces) {
  const TemporaryFolder folder;
  for (const auto& heading : {"350", "010", "000", "180", "190"}) {
    spill(folder / at_name(0, 0, heading, 0), "");
  }
  spill(folder / "plain.jpg", "");
  const TrainingSet set = places_of_folder(folder.path());
  expect_lawful(set, 2);
  ASSERT_EQ(set.places.size(), 2u);
  EXPECT_EQ(set.places[0].pictures.size(), 3u);
  EXPECT_EQ(set.places[1].pictures.size(), 2u);
  EXPECT_THAT(set.places[0].conflicts, ElementsAre(1));
  EXPECT_THAT(set.remarks, ElementsAre(HasSubstr("1 pictures have no position")));
}

TEST(FolderPlaces, SayWhatIsWrong) {
  const TemporaryFolder folder;
  spill(folder / "a/plain.jpg", "");
  spill(folder / at_name(0, 0, "", 0), "");
  EXPECT_THAT(message_of([&] { places_of_folder(folder / "a"); }), HasSubstr("no position"));
  EXPECT_THAT(message_of([&] { places_of_folder(folder.path()); }),
              HasSubstr("no place has 2 pictures"));
  PlaceOptions options;
  options.place_radius = 0;
  EXPECT_THAT(message_of([&] { places_of_folder(folder.path(), options); }),
              HasSubstr("place_radius is 0"));
  options = {.min_pictures = 1};
  EXPECT_THAT(message_of([&] { places_of_folder(folder.path(), options); }),
              HasSubstr("min_pictures is 1"));
}

/// Query i at place i of a line, with its positives up to `tolerance` frames away.
Dataset line(const TemporaryFolder& folder, int frames, int tolerance) {
  Dataset dataset;
  dataset.name = "line";
  for (int i = 0; i < frames; ++i) {
    dataset.database.push_back(spill(folder / fmt::format("db/{}.jpg", i), ""));
    dataset.queries.push_back(spill(folder / fmt::format("query/{}.jpg", i), ""));
    std::vector<int>& list = dataset.positives.emplace_back();
    for (int j = std::max(0, i - tolerance); j <= std::min(frames - 1, i + tolerance); ++j) {
      list.push_back(j);
    }
  }
  return dataset;
}

TEST(DatasetPlaces, CutALineWhereItsPositivesGoOn) {
  const TemporaryFolder folder;
  const TrainingSet set = places_of_dataset(line(folder, 60, 2));
  expect_lawful(set, 2);
  EXPECT_GE(set.pictures.size(), 100u);
  const auto frame = [&](int i) {
    return std::stoi(set.pictures[static_cast<std::size_t>(i)].stem().string());
  };
  for (std::size_t a = 0; a < set.places.size(); ++a) {
    for (std::size_t b = 0; b < set.places.size(); ++b) {
      int nearest = 1000;
      for (const int i : set.places[a].pictures) {
        for (const int j : set.places[b].pictures) {
          nearest = std::min(nearest, std::abs(frame(i) - frame(j)));
          if (a == b) {
            EXPECT_LE(std::abs(frame(i) - frame(j)), 4);
          }
        }
      }
      const std::vector<int>& conflicts = set.places[a].conflicts;
      if (a != b && nearest <= 2) {
        EXPECT_TRUE(std::binary_search(conflicts.begin(), conflicts.end(), static_cast<int>(b)));
      }
    }
  }
}

TEST(DatasetPlaces, KeepDistinctPlacesWhole) {
  const TemporaryFolder folder;
  Dataset dataset = line(folder, 6, 0);
  dataset.positives = {{0, 1}, {2}, {0, 1}, {}, {2, 3}, {4}};
  dataset.database[4] = folder / "gone.jpg";
  const TrainingSet set = places_of_dataset(dataset);
  expect_lawful(set, 2);
  ASSERT_EQ(set.places.size(), 2u);
  EXPECT_THAT(names_of(set, set.places[0]), ElementsAre("0.jpg", "0.jpg", "1.jpg", "2.jpg"));
  // Half of query 4's positives are in the second place, which is not most of them.
  EXPECT_THAT(names_of(set, set.places[1]), ElementsAre("1.jpg", "2.jpg"));
  EXPECT_THAT(set.remarks, ElementsAre(HasSubstr("gone.jpg")));
  dataset.positives.clear();
  EXPECT_THAT(message_of([&] { places_of_dataset(dataset); }), HasSubstr("0 lists of positives"));
}

TEST(DatasetPlaces, APictureOnBothSidesIsOne) {
  const TemporaryFolder folder;
  Dataset dataset = line(folder, 6, 1);
  dataset.queries = dataset.database;
  expect_lawful(places_of_dataset(dataset), 2);
}

class GsvCities : public testing::Test {
 protected:
  static constexpr const char* kTitles = "place_id,year,month,northdeg,city_id,lat,lon,panoid";

  void table(const std::string& city, const std::string& text) {
    spill(folder_ / ("Dataframes/" + city + ".csv"), text);
  }
  void picture(const std::string& city, const std::string& name) {
    spill(folder_ / ("Images/" + city + "/" + name), "");
  }

  TemporaryFolder folder_;
  PlaceOptions pairs_{.min_pictures = 2};
};

TEST_F(GsvCities, NamesAreMadeOfARowsFields) {
  table("Boston",
        "\xef\xbb\xbfplace_id,year,\"month\",northdeg,city_id,lat,lon,panoid\r\n"
        "7,2012,3,45,Boston,42.10,-71.5,a_b-c\r\n\r\n"
        "7,2013,11,5,\"Boston\",42.1,-71.50000001,ddd\r\n"
        "7,2013,11,5,Boston\r\n"
        "8,2013,11,5,Boston,1,2,eee\r\n"
        "8,2014,11,5,Boston,1,2,fff\r\n"
        "9,2014,11,5,Boston,1,2,ggg\r\n");
  picture("Boston", "Boston_0000007_2012_03_045_42.10_-71.5_a_b-c.JPG");
  picture("Boston", "Boston_0000007_2013_11_005_42.1_-71.5_ddd.jpg");  // found by its panorama
  picture("Boston", "Boston_0000008_2013_11_005_1_2_eee.jpg");
  picture("Boston", "Boston_0000009_2014_11_005_1_2_ggg.jpg");
  const TrainingSet set = places_of_gsv_cities(folder_.path(), {}, pairs_);
  expect_lawful(set, 2);
  ASSERT_EQ(set.places.size(), 1u);
  EXPECT_THAT(names_of(set, set.places[0]),
              ElementsAre("Boston_0000007_2012_03_045_42.10_-71.5_a_b-c.JPG",
                          "Boston_0000007_2013_11_005_42.1_-71.5_ddd.jpg"));
  EXPECT_THAT(set.remarks,
              ElementsAre(HasSubstr("1 rows are odd and left out, the first is row 3"),
                          HasSubstr("1 of 6 pictures are missing, the first is "
                                    "Boston_0000008_2014_11_005_1_2_fff.jpg")));
}

TEST_F(GsvCities, CitiesAreGroupsAndColumnsComeInAnyOrder) {
  for (const std::string city : {"Rome", "Oslo"}) {
    std::string text = "panoid,lon,lat,city_id,northdeg,month,year,place_id\n";
    for (int place = 0; place < 3; ++place) {
      for (int i = 0; i < 3 + place; ++i) {
        text += fmt::format("p{0},2,1,{1},90,5,2015,{2}\n", i, city, place);
        picture(city, fmt::format("{}_{:07}_2015_05_090_1_2_p{}.jpg", city, place, i));
      }
    }
    table(city, text);
  }
  const TrainingSet set = places_of_gsv_cities(folder_.path());
  expect_lawful(set, 4);
  EXPECT_THAT(set.groups, ElementsAre("Oslo", "Rome"));
  ASSERT_EQ(set.places.size(), 4u);
  EXPECT_EQ(set.places[3].group, 1);
  EXPECT_THAT(names_of(set, set.places[3])[0], HasSubstr("Rome_0000002"));
  EXPECT_EQ(places_of_gsv_cities(folder_.path(), {"Rome"}).groups.size(), 1u);

  const TrainingSet twice = joined({set, set});
  expect_lawful(twice, 4);
  EXPECT_EQ(twice.groups.size(), 4u);
  EXPECT_EQ(twice.places[7].group, 3);
  EXPECT_EQ(names_of(twice, twice.places[7]), names_of(set, set.places[3]));
}

TEST_F(GsvCities, SayWhatIsWrong) {
  const auto error = [&](const std::vector<std::string>& cities = {}) {
    return message_of([&] { places_of_gsv_cities(folder_.path(), cities, pairs_); });
  };
  EXPECT_THAT(error(), HasSubstr("no folder Dataframes"));
  fs::create_directories(folder_ / "Dataframes");
  EXPECT_THAT(error(), HasSubstr("no CITY.csv"));
  table("Rome", std::string(kTitles) + "\n1,2015,5,90,Rome,1,2,a\n1,2015,5,90,Rome,1,2,b\n");
  EXPECT_THAT(error({"Roma"}), HasSubstr("did you mean Rome"));
  EXPECT_THAT(error(), HasSubstr("no place has 2 pictures"));
  EXPECT_THAT(error({"Rome"}), HasSubstr("none of its pictures is in"));
  EXPECT_THAT(error({"Rome", "Rome"}), HasSubstr("named twice"));
  table("Rome", "place_id,year\n1,2\n");
  EXPECT_THAT(error(), HasSubstr("no column"));
  table("Rome", std::string(kTitles) + "\n");
  EXPECT_THAT(error(), HasSubstr("no place has 2 pictures"));
}

}  // namespace
}  // namespace ria
