// SPDX-License-Identifier: MIT
// What LoopCloser does with a described picture.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "loop/place_filter.h"
#include "loop/redundancy.h"
#include "loop/way.h"
#include "ria/loop.h"

namespace ria {

class Stopwatch {
 public:
  /// Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> spent = now - last_;
    last_ = now;
    return spent.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class Closing {
 public:
  Closing(Recognizer&& with, Map&& places, const LoopOptions& asked);
  LoopResult add(const DescribedPicture& picture, const LoopFrame& frame);

  Recognizer recognizer;
  Map map;
  LoopOptions options;

 private:
  /// Which places are old enough to be answers, and which were passed a while ago.
  struct Window {
    int before = 0;  // answers are below
    int passed = 0;  // from `before` up to here
  };

  Window window(double stamp);
  Sighting look(const DescribedPicture& picture, const Window& window, LoopTime& ms);
  std::vector<Agreement> compare(const PackedLocalFeatures& picture,
                                 const std::vector<int>& places) const;
  LoopResult judge(const Sighting& sighting, const Estimate& estimate) const;
  LoopReason reason(const Sighting& sighting, const Estimate& estimate) const;
  bool stands_still(const PackedLocalFeatures& local);
  void keep(const DescribedPicture& picture, const LoopFrame& frame, LoopResult& result);
  void go_on();

  PlaceFilter filter_;
  FilterModel model_;
  Way way_;
  Redundancy redundancy_;
  std::deque<int> ends_;                           // of the map before each recent picture
  std::deque<std::pair<int, double>> young_;       // places and their stamps
  std::optional<PackedLocalFeatures> last_local_;  // of the last picture that showed something new
  LoopResult last_;                                // and what was said of it
  double step_ = 0;                                // mean agreement of successive pictures
  float forbidden_ = -2;                           // best cosine that odometry ruled out
};

}  // namespace ria
