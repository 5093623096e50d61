// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "loop/street.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace ria::loop_test {
namespace {

/// A camera on the street.
class Camera {
 public:
  explicit Camera(const LoopOptions& options = short_streets(),
                  const std::filesystem::path& map = {})
      : closer_(LoopCloser::open(map, kMethod, options)) {}

  LoopResult see(int at, unsigned visit, const std::optional<Pose>& pose = {}) {
    return see(view(at, closer_.map().header().dim, visit), fmt::format("{}_{}", at, visit), pose);
  }
  LoopResult see(const DescribedPicture& picture,
                 const std::string& name = "",
                 const std::optional<Pose>& pose = {}) {
    LoopFrame frame;
    frame.name = name;
    frame.odometry = pose;
    return closer_.add(picture, frame);
  }
  /// Drives from one column to another; the results.
  std::vector<LoopResult> drive(int from, int to, unsigned visit, int step = kStep) {
    std::vector<LoopResult> results;
    const int sign = to < from ? -1 : 1;
    for (int at = from; at != to && sign * (to - at) > 0; at += sign * step) {
      results.push_back(see(at, visit));
    }
    return results;
  }
  LoopCloser& closer() { return closer_; }

 private:
  LoopCloser closer_;
};

int count_loops(const std::vector<LoopResult>& results) {
  return static_cast<int>(
      std::count_if(results.begin(), results.end(), [](const auto& one) { return one.loop; }));
}

constexpr int kEnd = 40 * kStep;

TEST(LoopCloser, SaysNoLoopWhereNothingComesBack) {
  Camera camera;
  const auto first = camera.drive(0, kEnd, 0);
  ASSERT_EQ(first.size(), 40u);
  EXPECT_EQ(count_loops(first), 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first[i].reason, LoopReason::kTooRecent) << i;
  EXPECT_EQ(first.back().reason, LoopReason::kUnlike);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(first[i].kept_as, i);
}

TEST(LoopCloser, ClosesLoopsForwardsAndBackwards) {
  for (const bool back : {false, true}) {
    Camera camera;
    camera.drive(0, kEnd, 0);
    camera.drive(10000, 10000 + 15 * kStep, 0);
    const auto again = back ? camera.drive(kEnd - kStep, -kStep, 1) : camera.drive(0, kEnd, 1);
    ASSERT_EQ(again.size(), 40u);
    EXPECT_GE(count_loops(again), 38) << back;
    for (int i = 2; i < 40; ++i) {
      EXPECT_EQ(again[i].place, back ? 39 - i : i);
      EXPECT_GT(again[i].probability, 0.9) << i;
      EXPECT_NEAR(again[i].right, 0, 0.5);
    }
    EXPECT_EQ(again[5].place_name, fmt::format("{}_0", (back ? 34 : 5) * kStep));
    // Elsewhere again: at once, not some pictures later.
    const auto away = camera.drive(20000, 20000 + 5 * kStep, 1);
    EXPECT_EQ(count_loops(away), 0) << back;
  }
}

TEST(LoopCloser, TellsByHowManyCellsTheViewMoved) {
  Camera camera;
  camera.drive(0, kEnd, 0);
  camera.drive(10000, 10000 + 15 * kStep, 0);
  const auto again = camera.drive(2, kEnd, 1);  // two columns further on
  for (int i = 3; i < 39; ++i) {
    ASSERT_EQ(again[i].place, i);
    EXPECT_NEAR(again[i].right, 2, 0.6) << i;
    EXPECT_NEAR(again[i].down, 0, 0.6) << i;
  }
}

TEST(LoopCloser, FollowsAnotherSpeedAndAKidnap) {
  Camera camera;
  camera.drive(0, kEnd, 0);
  camera.drive(10000, 10000 + 15 * kStep, 0);
  const auto fast = camera.drive(0, kEnd / 2, 1, 2 * kStep);
  EXPECT_GE(count_loops(fast), 8);
  const auto carried = camera.drive(kEnd / 2 + 10 * kStep, kEnd, 1);  // ten places further
  EXPECT_GE(count_loops(carried), 8);
  EXPECT_EQ(carried.back().place, 39);
}

TEST(LoopCloser, AStopAddsNothing) {
  Camera camera;
  camera.drive(0, kEnd, 0);
  camera.drive(10000, 10000 + 15 * kStep, 0);
  const int dim = camera.closer().map().header().dim;
  const DescribedPicture same = view(30000, dim, 0);
  EXPECT_GE(camera.see(same).kept_as, 0);
  const int places = camera.closer().map().size();
  for (int i = 0; i < 20; ++i) {
    const LoopResult result = camera.see(same);
    EXPECT_EQ(result.reason, LoopReason::kStandingStill);
    EXPECT_EQ(result.kept_as, -1);
  }
  EXPECT_EQ(camera.closer().map().size(), places);
  // A stop on a loop stays on it.
  camera.drive(0, 10 * kStep, 1);
  const DescribedPicture there = view(10 * kStep, dim, 1);
  ASSERT_TRUE(camera.see(there).loop);
  EXPECT_TRUE(camera.see(there).loop);
  EXPECT_TRUE(camera.see(11 * kStep, 1).loop);
}

TEST(LoopCloser, OdometryForbidsWhatIsOutOfReach) {
  Camera camera;
  for (int i = 0; i < 30; ++i) camera.see(i * kStep, 0, Pose{{10.0 * i, 0, 0}});
  // Another street that looks the same, 300 m aside.
  std::vector<LoopResult> results;
  for (int i = 0; i < 20; ++i) results.push_back(camera.see(i * kStep, 1, Pose{{300, 300, 0}}));
  EXPECT_EQ(count_loops(results), 0);
  EXPECT_EQ(results.back().reason, LoopReason::kOdometryForbids);

  // The same place with some drift.
  Camera drifted;
  for (int i = 0; i < 30; ++i) drifted.see(i * kStep, 0, Pose{{10.0 * i, 0, 0}});
  results.clear();
  for (int i = 0; i < 20; ++i)
    results.push_back(drifted.see(i * kStep, 1, Pose{{10.0 * i, 20, 0}}));
  EXPECT_GE(count_loops(results), 17);
}

TEST(LoopCloser, OneStreetTwiceIsAmbiguousForOnePicture) {
  LoopOptions options = short_streets();
  Camera camera(options);
  const int dim = camera.closer().map().header().dim;
  // Two places apart from each other that look alike, in a map somebody else made.
  Map map(camera.closer().map().header());
  for (int i = 0; i < 60; ++i) {
    const DescribedPicture picture = view((i >= 40 ? i - 40 : i) * kStep, dim, i >= 40 ? 1 : 0);
    Place place;
    place.name = std::to_string(i);
    map.add(Matrix(1, dim, picture.descriptor), {place}, {picture.local});
  }
  options.keep = false;
  LoopCloser closer(Recognizer(kMethod), std::move(map), options);
  EXPECT_EQ(closer.add(view(10 * kStep, dim, 2)).reason, LoopReason::kAmbiguous);
}

TEST(LoopCloser, WhereAmIFromOnePicture) {
  const TemporaryFolder folder;
  {
    Camera camera(short_streets(), folder / "m.ria");
    camera.drive(0, kEnd, 0);
  }
  LoopOptions options = short_streets();
  options.keep = false;
  LoopCloser closer = LoopCloser::open(folder / "m.ria", "", options);
  const LoopResult result = closer.add(view(37 * kStep, closer.map().header().dim, 1));
  EXPECT_TRUE(result.loop) << result.probability;
  EXPECT_EQ(result.place, 37);
  EXPECT_EQ(result.kept_as, -1);
  EXPECT_EQ(closer.map().size(), 40);
}

TEST(LoopCloser, GoesOnWhereItWasLeft) {
  const TemporaryFolder folder;
  Camera whole;
  const auto expected = [&] {
    auto all = whole.drive(0, kEnd, 0);
    for (const auto& one : whole.drive(0, 20 * kStep, 1)) all.push_back(one);
    return all;
  }();
  std::vector<LoopResult> found;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i % 7 != 0 && i != 45) continue;  // begun again at every seventh picture
    Camera part(short_streets(), folder / "m.ria");
    const std::size_t end = i == 42 ? 45 : i == 45 ? 49 : std::min(i + 7, expected.size());
    for (std::size_t k = i; k < end; ++k) {
      const bool second = k >= 40;
      found.push_back(part.see(static_cast<int>(second ? k - 40 : k) * kStep, second ? 1 : 0));
    }
  }
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].loop, expected[i].loop) << i;
    EXPECT_EQ(found[i].kept_as, expected[i].kept_as) << i;
    if (expected[i].loop) EXPECT_EQ(found[i].place, expected[i].place) << i;
    if (expected[i].loop) EXPECT_NEAR(found[i].probability, expected[i].probability, 0.02) << i;
  }
}

TEST(LoopCloser, ForgetsWhatIsShownElsewhere) {
  LoopOptions options = short_streets();
  options.max_places = 60;
  Camera camera(options);
  camera.drive(0, kEnd, 0);
  camera.drive(10000, 10000 + 15 * kStep, 0);
  const auto again = camera.drive(0, kEnd, 1);
  EXPECT_EQ(camera.closer().map().size(), 60);
  EXPECT_GE(count_loops(again), 36);
  // The other street, which was seen once, is still there.
  const auto other = camera.drive(10000, 10000 + 15 * kStep, 1);
  EXPECT_GE(count_loops(other), 10);
  EXPECT_EQ(camera.closer().map().size(), 60);
}

TEST(LoopCloser, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  { Camera camera(short_streets(), folder / "m.ria"); }
  EXPECT_NE(
      message_of([&] { LoopCloser::open(folder / "m.ria", "rootsift-gem"); }).find("rootsift-gem"),
      std::string::npos);
  EXPECT_NE(
      message_of([&] { LoopCloser::open("", "rootsift-ria:rerank=none"); }).find("rerank=patches"),
      std::string::npos);
  LoopOptions options;
  options.recent = 0;
  EXPECT_THROW(options.validate(), std::invalid_argument);
  options = {};
  options.max_places = 20;  // below `recent`
  EXPECT_THROW(options.validate(), std::invalid_argument);
  options = {};
  options.same_view = 0;
  EXPECT_THROW(options.validate(), std::invalid_argument);
}

}  // namespace
}  // namespace ria::loop_test
