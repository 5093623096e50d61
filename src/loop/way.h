// SPDX-License-Identifier: MIT
// The way driven, by odometry: which places may be where the camera is.
#pragma once

#include <optional>
#include <unordered_map>

#include "ria/drive.h"
#include "ria/map.h"

namespace ria {

class Way {
 public:
  /// `reach` metres apart two pictures may still show one place; odometry is wrong by at most
  /// `drift` of the way driven.
  Way(double reach, double drift) : reach_(reach), drift_(drift) {}

  /// The camera is here now; nothing: it is not known.
  void move_to(const std::optional<Pose>& pose);
  /// What is kept now as this place was taken here.
  void keep(int place);
  void forget(int place) { kept_.erase(place); }
  /// A place of a map that was left off.
  void restore(int place, const Place& known);
  /// False if the camera cannot be there, however much the odometry has drifted.
  bool may_be_at(int place) const;

 private:
  struct Point {
    double x, y;
    double driven;  // metres up to here
  };

  double reach_, drift_;
  std::optional<Point> now_, last_;
  std::unordered_map<int, Point> kept_;
};

}  // namespace ria
