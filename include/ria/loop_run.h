// SPDX-License-Identifier: MIT
// A whole drive with what was said of each picture: for files and reports.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/loop.h"
#include "ria/loop_truth.h"

namespace ria {

/// A picture of the drive and what was said of it.
struct LoopRunFrame {
  std::string name;
  std::filesystem::path picture;  ///< empty: it came as a stream
  std::optional<Pose> pose;
  LoopResult result;
};

/// What `ria loop` writes files and reports from.
struct RIA_API LoopRun {
  std::string name;
  std::string method;
  LoopOptions options;
  std::vector<LoopRunFrame> frames;      ///< pictures that could not be read are left out
  std::optional<LoopTruth> truth;        ///< its pictures by their names
  std::optional<LoopMeasures> measures;  ///< where there is a truth
  int truth_tolerance = 1;

  /// Means over the frames.
  LoopTime ms_per_frame() const;
  /// Position in `frames` of the picture that a frame fits best; -1: none, or of another drive.
  std::vector<int> places() const;
  /// Fills `measures`. Throws std::runtime_error for a picture that the truth does not name.
  void measure();
  /// Whether the place of a frame is a true loop; nothing where there is no truth.
  std::optional<bool> right(const LoopRunFrame& frame) const;

  /// One object a frame; no line ends in it.
  static std::string frame_json(const LoopRunFrame& frame);
  /// Measures and times without the frames.
  std::string summary_json() const;
  std::string to_json() const;
  std::string to_csv() const;
  /// Kept pictures as vertices, odometry and loops as edges (SE3:QUAT).
  std::string to_g2o() const;
};

}  // namespace ria
