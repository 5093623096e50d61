// SPDX-License-Identifier: MIT
// Baidu's mall: a text file with the camera's pose for each picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <sstream>
#include <stdexcept>

#include "archive/bytes.h"
#include "dataset/forms.h"
#include "dataset/natural_order.h"
#include "dataset/pictures.h"
#include "dataset/tables.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

struct Camera {
  std::array<double, 3> centre{};
  std::array<double, 3> euler{};  ///< degrees about z, y, x, each turn in the fixed frame
};

std::array<double, 3> read_triple(const std::string& line, const fs::path& file) {
  std::istringstream words(line);
  std::array<double, 3> values{};
  for (double& value : values) {
    std::string word;
    words >> word;
    value = to_number(word, file.string());
  }
  return values;
}

/// R = Rx(a) Ry(b) Rz(c); the angles come as (c, b, a). Where b is a right angle only a sum is
/// defined: the last angle is then 0.
std::array<double, 3> euler_angles(const std::array<std::array<double, 3>, 3>& r) {
  const double degrees = 180 / std::numbers::pi;
  const double b = std::asin(std::clamp(r[0][2], -1.0, 1.0));
  double a = 0, c = 0;
  if (std::abs(r[0][2]) < 1 - 1e-14) {
    a = std::atan2(-r[1][2], r[2][2]);
    c = std::atan2(-r[0][1], r[0][0]);
  } else {
    c = std::atan2(r[1][0], r[1][1]);
  }
  return {c * degrees, b * degrees, a * degrees};
}

/// The rotation's rows are lines 4 to 6 counted from 0, the centre is the last line but one.
Camera read_camera(const fs::path& file) {
  constexpr std::size_t kRotation = 4;
  std::vector<std::string> lines;
  std::istringstream text([&] {
    const auto mapping = MappedFile::open(file);
    return std::string(as_text(mapping->bytes()));
  }());
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (lines.size() < kRotation + 4) {
    throw read_error(file,
                     fmt::format("{} lines, a rotation and a centre were expected", lines.size()));
  }
  std::array<std::array<double, 3>, 3> rotation;
  for (std::size_t i = 0; i < 3; ++i) rotation[i] = read_triple(lines[kRotation + i], file);
  return {read_triple(lines[lines.size() - 2], file), euler_angles(rotation)};
}

/// One camera a picture, in natural order of the files as the pictures are.
std::vector<std::optional<Camera>> read_cameras(Loading& loading,
                                                const std::string& folder,
                                                const std::vector<fs::path>& pictures) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(loading.folder / folder)) {
    if (entry.path().extension() == ".camera") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.native(), b.native());
  });
  std::map<std::string, fs::path> by_stem;
  for (const fs::path& file : files) by_stem[file.stem().string()] = file;
  std::vector<std::optional<Camera>> cameras(pictures.size());
  if (files.size() != pictures.size()) {
    loading.problems.push_back(
        fmt::format("{}: {} cameras for {} pictures", folder, files.size(), pictures.size()));
  }
  // Equal counts pair up in order, as the protocol does; otherwise only equal names can.
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const auto named = by_stem.find(pictures[i].stem().string());
    const fs::path file = files.size() == pictures.size() ? files[i]
                          : named != by_stem.end()        ? named->second
                                                          : fs::path();
    if (file.empty()) continue;
    try {
      cameras[i] = read_camera(file);
    } catch (const std::runtime_error& error) {
      loading.problems.push_back(error.what());
    }
  }
  return cameras;
}

bool near(const Camera& a, const Camera& b, double radius, double max_angle) {
  double square = 0, turn = 0;
  for (int i = 0; i < 3; ++i) {
    square += (a.centre[i] - b.centre[i]) * (a.centre[i] - b.centre[i]);
    turn += std::abs(a.euler[i] - b.euler[i]) / 3;
  }
  return square <= radius * radius && (max_angle <= 0 || turn < max_angle);
}

Positions floor_plan(const std::vector<std::optional<Camera>>& cameras) {
  Positions positions;
  for (const auto& camera : cameras) {
    positions.push_back(camera ? std::optional<Position>({camera->centre[0], camera->centre[1]})
                               : std::nullopt);
  }
  return positions;
}

void load_cameras(Loading& loading) {
  Dataset& data = loading.dataset;
  data.database = pictures_in(loading.folder / "training_images_undistort");
  data.queries = pictures_in(loading.folder / "query_images_undistort");
  const auto places = read_cameras(loading, "training_gt", data.database);
  const auto queries = read_cameras(loading, "query_gt", data.queries);
  const double radius = loading.radius(loading.info.positive_dist_threshold);
  const double max_angle = loading.angle();
  for (const auto& query : queries) {
    std::vector<int> right;
    for (std::size_t i = 0; query && i < places.size(); ++i) {
      if (places[i] && near(*query, *places[i], radius, max_angle)) {
        right.push_back(static_cast<int>(i));
      }
    }
    data.positives.push_back(std::move(right));
  }
  data.database_positions = floor_plan(places);
  data.query_positions = floor_plan(queries);
}

}  // namespace

Form camera_form() {
  const std::vector<std::string> needed{
      "training_images_undistort", "training_gt", "query_images_undistort", "query_gt"};
  return {
      "training_images_undistort/ training_gt/*.camera query_images_undistort/ "
      "query_gt/*.camera",
      [needed](const Loading& loading) { return not_there(loading, needed); },
      load_cameras};
}

}  // namespace ria
