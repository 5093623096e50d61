// SPDX-License-Identifier: MIT
// What LoopCloser does with a described picture.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "loop/place_filter.h"
#include "loop/redundancy.h"
#include "loop/way.h"
#include "ria/loop.h"
#include "util/stopwatch.h"

namespace ria {

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
  /// What the descriptor says of the places of a window.
  struct Alike {
    std::vector<Match> answers, passed, expected;
    double mean = 0, deviation = 0;  ///< of all places that are old enough
  };
  Alike compare_all(const Descriptor& descriptor, const Window& window);
  Alike ask_index(const Descriptor& descriptor, const Window& window);
  std::vector<Candidate> compare(const PackedLocalFeatures& picture,
                                 const std::vector<Match>& places) const;
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
