// SPDX-License-Identifier: MIT
#include "ria/drive.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

class DriveTest : public testing::Test {
 protected:
  void touch(const std::string& name, const std::string& text = "x") {
    fs::create_directories((folder_ / name).parent_path());
    write_text(folder_ / name, text);
  }
  static std::vector<std::string> names(const Drive& drive) {
    std::vector<std::string> all;
    for (const DriveFrame& frame : drive.frames) all.push_back(frame.name);
    return all;
  }
  TemporaryFolder folder_;
};

TEST_F(DriveTest, AFolderIsInNaturalOrder) {
  for (const char* name : {"d/img10.jpg", "d/img2.jpg", "d/img1.png", "d/notes.txt"}) touch(name);
  const Drive drive = load_drive(folder_ / "d");
  EXPECT_EQ(names(drive), (std::vector<std::string>{"img1.png", "img2.jpg", "img10.jpg"}));
  EXPECT_EQ(drive.name, "d");
  EXPECT_FALSE(drive.frames[0].stamp);
}

TEST_F(DriveTest, TumAndItsPoses) {
  touch("rgb.txt", "# color images\n# timestamp filename\n10.0 rgb/a.png\n10.5 rgb/b.png\n");
  touch("poses.txt", "9.9 1 2 3 0 0 0 1\n10.52 4 5 6 0 0 1 0\n");
  const Drive drive = load_drive(folder_.path(), folder_ / "poses.txt");
  EXPECT_EQ(names(drive), (std::vector<std::string>{"rgb/a.png", "rgb/b.png"}));
  EXPECT_EQ(drive.frames[1].stamp, 10.5);
  EXPECT_EQ(drive.frames[1].picture, folder_ / "rgb/b.png");
  EXPECT_EQ(drive.frames[0].pose->position, (std::array<double, 3>{1, 2, 3}));
  EXPECT_EQ(drive.frames[1].pose->rotation, (std::array<double, 4>{0, 0, 1, 0}));
}

TEST_F(DriveTest, EurocCountsNanoseconds) {
  touch("mav0/cam0/data.csv",
        "#timestamp [ns],filename\n1403636579763555584,1403636579763555584.png\r\n");
  touch("mav0/cam0/data/1403636579763555584.png");
  const Drive drive = load_drive(folder_.path());
  ASSERT_EQ(drive.frames.size(), 1u);
  EXPECT_NEAR(*drive.frames[0].stamp, 1403636579.7635556, 1e-6);
  EXPECT_TRUE(fs::exists(drive.frames[0].picture));
}

TEST_F(DriveTest, KittiHasAPoseAPicture) {
  for (const char* name : {"image_2/000000.png", "image_2/000001.png", "image_0/000000.png"}) {
    touch(name);
  }
  touch("times.txt", "0.0\n1.04e-01\n");
  // Turned by 90 degrees around the axis that points down, then 3 m to the right of the start,
  // 1 m up and 7 m forward.
  touch("poses.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n0 0 1 3 0 1 0 -1 -1 0 0 7\n");
  const Drive drive = load_drive(folder_.path(), folder_ / "poses.txt");
  EXPECT_EQ(names(drive), (std::vector<std::string>{"image_2/000000.png", "image_2/000001.png"}));
  EXPECT_NEAR(*drive.frames[1].stamp, 0.104, 1e-9);
  const Pose& pose = *drive.frames[1].pose;
  EXPECT_EQ(pose.position, (std::array<double, 3>{3, 7, 1}));  // right, forward, up
  EXPECT_NEAR(std::abs(pose.rotation[2]), std::sqrt(0.5), 1e-9);
  EXPECT_NEAR(std::abs(pose.rotation[3]), std::sqrt(0.5), 1e-9);
}

TEST_F(DriveTest, NamesTheLineThatIsWrong) {
  const auto error = [&](const char* list, const char* poses) {
    touch("list.txt", list);
    touch("poses.txt", poses);
    return message_of(
        [&] { load_drive(folder_ / "list.txt", *poses ? folder_ / "poses.txt" : fs::path()); });
  };
  EXPECT_TRUE(contains(error("1 a.png\n2\n", ""), "list.txt, line 2: 1 words"));
  EXPECT_TRUE(contains(error("one a.png\n", ""), "'one' is no number"));
  EXPECT_TRUE(contains(error("# nothing\n", ""), "a stamp and a picture"));
  EXPECT_TRUE(contains(error("1 a.png\n", "1 2 3\n"), "TUM's 8 or KITTI's 12"));
  EXPECT_TRUE(contains(error("1 a.png\n", "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 0\n"),
                       "2 poses for 1 pictures"));
  EXPECT_TRUE(contains(message_of([&] { load_drive(folder_ / "none"); }), "no such file"));
}

}  // namespace
}  // namespace ria
