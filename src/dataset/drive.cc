// SPDX-License-Identifier: MIT
#include "ria/drive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "dataset/pictures.h"
#include "dataset/tables.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr double kNanoseconds = 1e-9;
constexpr double kLargestGap = 0.5;  // seconds between a picture and its pose

/// A line of a list: its words, and where it stands for errors.
struct Line {
  std::vector<std::string> words;
  std::string where;
};

/// Words between spaces or commas; what follows '#' is a comment.
std::vector<Line> read_words(const fs::path& file) {
  constexpr const char* kBetween = " \t,\r";
  std::vector<Line> lines;
  int number = 0;
  for (std::string text : read_lines(file)) {
    text = text.substr(0, text.find('#'));
    Line line{{}, fmt::format("{}, line {}", file.string(), ++number)};
    for (std::size_t at = text.find_first_not_of(kBetween); at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
      line.words.push_back(text.substr(at, end - at));
      at = text.find_first_not_of(kBetween, end);
    }
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

/// EuRoC counts nanoseconds: no stamp in seconds is that large.
double to_seconds(const std::string& text, const std::string& where) {
  const double stamp = to_number(text, where);
  return std::abs(stamp) > 1e14 ? stamp * kNanoseconds : stamp;
}

Drive listed_drive(const fs::path& list) {
  Drive drive;
  const fs::path beside = list.parent_path();
  const fs::path data = beside / "data";
  for (const Line& line : read_words(list)) {
    if (line.words.size() != 2) {
      throw std::runtime_error(fmt::format(
          "{}: {} words, a stamp and a picture were expected", line.where, line.words.size()));
    }
    DriveFrame frame;
    frame.stamp = to_seconds(line.words[0], line.where);
    frame.name = line.words[1];
    std::error_code ignored;
    frame.picture = beside / frame.name;
    if (!fs::exists(frame.picture, ignored) && fs::exists(data / frame.name, ignored)) {
      frame.picture = data / frame.name;
    }
    drive.frames.push_back(std::move(frame));
  }
  if (drive.frames.empty()) {
    throw std::runtime_error(
        fmt::format("{}: lines of a stamp and a picture were expected", list.string()));
  }
  return drive;
}

Drive folder_drive(const fs::path& folder, const fs::path& pictures) {
  Drive drive;
  for (const fs::path& picture : pictures_in(pictures)) {
    drive.frames.push_back({picture,
                            picture.lexically_proximate(folder).generic_string(),
                            std::nullopt,
                            std::nullopt});
  }
  return drive;
}

/// KITTI's times.txt has one stamp a picture.
void take_times(Drive& drive, const fs::path& file) {
  const std::vector<Line> lines = read_words(file);
  if (lines.size() != drive.frames.size()) {
    drive.remarks.push_back(fmt::format(
        "{}: {} stamps for {} pictures", file.string(), lines.size(), drive.frames.size()));
  }
  for (std::size_t i = 0; i < std::min(lines.size(), drive.frames.size()); ++i) {
    drive.frames[i].stamp = to_seconds(lines[i].words[0], lines[i].where);
  }
}

Drive open_drive(const fs::path& source) {
  std::error_code ignored;
  if (!fs::exists(source, ignored)) {
    throw std::runtime_error(fmt::format("{}: no such file or folder", source.string()));
  }
  if (!fs::is_directory(source)) return listed_drive(source);
  for (const char* list : {"rgb.txt", "mav0/cam0/data.csv", "data.csv"}) {
    if (fs::is_regular_file(source / list, ignored)) return listed_drive(source / list);
  }
  if (fs::is_regular_file(source / "times.txt", ignored)) {
    for (const char* camera : {"image_2", "image_0", "image_3", "image_1"}) {
      if (!fs::is_directory(source / camera, ignored)) continue;
      Drive drive = folder_drive(source, source / camera);
      take_times(drive, source / "times.txt");
      return drive;
    }
  }
  return folder_drive(source, source);
}

std::vector<double> numbers_of(const Line& line) {
  std::vector<double> numbers;
  for (const std::string& word : line.words) numbers.push_back(to_number(word, line.where));
  return numbers;
}

/// Of a rotation matrix given as rows of three at stride four.
std::array<double, 4> quaternion_of(const std::vector<double>& m) {
  const double trace = m[0] + m[5] + m[10];
  std::array<double, 4> q{};
  if (trace > 0) {
    const double s = 2 * std::sqrt(trace + 1);
    q = {(m[9] - m[6]) / s, (m[2] - m[8]) / s, (m[4] - m[1]) / s, s / 4};
  } else {
    const int i = m[0] >= m[5] && m[0] >= m[10] ? 0 : m[5] >= m[10] ? 1 : 2;
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const auto at = [&](int row, int column) { return m[row * 4 + column]; };
    const double s = 2 * std::sqrt(std::max(1e-12, 1 + at(i, i) - at(j, j) - at(k, k)));
    q[i] = s / 4;
    q[j] = (at(j, i) + at(i, j)) / s;
    q[k] = (at(k, i) + at(i, k)) / s;
    q[3] = (at(k, j) - at(j, k)) / s;
  }
  return q;
}

/// KITTI's axes point right, down and forward; ours right, forward and up.
Pose upright(const Pose& pose) {
  const auto& [x, y, z] = pose.position;
  const auto& [qx, qy, qz, qw] = pose.rotation;
  return {{x, z, -y}, {qx, qz, -qy, qw}};
}

struct StampedPose {
  double stamp;
  Pose pose;
};

/// The pose nearest in time, if it is near enough.
std::optional<Pose> pose_at(const std::vector<StampedPose>& poses, double stamp) {
  const auto after =
      std::lower_bound(poses.begin(), poses.end(), stamp, [](const StampedPose& a, double b) {
        return a.stamp < b;
      });
  const StampedPose* nearest = nullptr;
  for (auto it = after == poses.begin() ? after : after - 1; it != poses.end() && it <= after;
       ++it) {
    if (nearest == nullptr || std::abs(it->stamp - stamp) < std::abs(nearest->stamp - stamp)) {
      nearest = &*it;
    }
  }
  if (nearest == nullptr || std::abs(nearest->stamp - stamp) > kLargestGap) return std::nullopt;
  return nearest->pose;
}

void take_stamped_poses(Drive& drive, const fs::path& file, const std::vector<Line>& lines) {
  std::vector<StampedPose> poses;
  for (const Line& line : lines) {
    const std::vector<double> n = numbers_of(line);
    if (n.size() != 8) {
      throw std::runtime_error(
          fmt::format("{}: {} numbers, TUM's 8 or KITTI's 12 were expected", line.where, n.size()));
    }
    poses.push_back(
        {to_seconds(line.words[0], line.where), {{n[1], n[2], n[3]}, {n[4], n[5], n[6], n[7]}}});
  }
  std::stable_sort(poses.begin(), poses.end(), [](const StampedPose& a, const StampedPose& b) {
    return a.stamp < b.stamp;
  });
  std::size_t without = 0;
  for (DriveFrame& frame : drive.frames) {
    if (!frame.stamp) {
      throw std::runtime_error(fmt::format(
          "{}: poses by time need pictures with stamps; {} has none", file.string(), frame.name));
    }
    frame.pose = pose_at(poses, *frame.stamp);
    without += !frame.pose;
  }
  if (without > 0) {
    drive.remarks.push_back(fmt::format("{}: {} of {} pictures have no pose within {} s",
                                        file.string(),
                                        without,
                                        drive.frames.size(),
                                        kLargestGap));
  }
}

void take_poses(Drive& drive, const fs::path& file) {
  const std::vector<Line> lines = read_words(file);
  if (lines.empty()) throw std::runtime_error(fmt::format("{}: no poses", file.string()));
  if (lines[0].words.size() != 12) return take_stamped_poses(drive, file, lines);
  if (lines.size() != drive.frames.size()) {
    throw std::runtime_error(fmt::format(
        "{}: {} poses for {} pictures", file.string(), lines.size(), drive.frames.size()));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<double> n = numbers_of(lines[i]);
    if (n.size() != 12) {
      throw std::runtime_error(
          fmt::format("{}: {} numbers, 12 were expected", lines[i].where, n.size()));
    }
    drive.frames[i].pose = upright(Pose{{n[3], n[7], n[11]}, quaternion_of(n)});
  }
}

}  // namespace

Drive load_drive(const fs::path& folder_or_list, const fs::path& odometry) {
  Drive drive = open_drive(folder_or_list);
  const fs::path whole = fs::absolute(folder_or_list).lexically_normal();
  drive.name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  if (!odometry.empty()) take_poses(drive, odometry);
  return drive;
}

}  // namespace ria
