// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "ria/loop.h"

namespace ria {

const std::string& default_loop_method() {
  static const std::string name = "resnet50-riax";
  return name;
}

void LoopOptions::validate() const {
  const auto require = [](bool holds, const char* field, auto value, const char* expected) {
    if (!holds)
      throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  const auto is_length = [](double value) { return value >= 0 && std::isfinite(value); };
  require(recent >= 1, "recent", recent, "a number of pictures from 1 up");
  require(is_length(recent_seconds), "recent_seconds", recent_seconds, "a time from 0 up");
  require(decision >= 0 && decision <= 1, "decision", decision, "a probability");
  require(candidates >= 1, "candidates", candidates, "at least 1");
  require(same_view > 0 && same_view <= 1, "same_view", same_view, "a number in (0, 1]");
  require(max_places == 0 || max_places > recent,
          "max_places",
          max_places,
          "0 or a number above `recent`");
  require(is_length(odometry_reach), "odometry_reach", odometry_reach, "a length from 0 up");
  require(is_length(odometry_drift), "odometry_drift", odometry_drift, "a share from 0 up");
  require(num_threads >= 0, "num_threads", num_threads, "a number from 0 up");
}

std::string to_string(LoopReason reason) {
  static constexpr std::array kNames = {"loop",
                                        "too_recent",
                                        "unlike",
                                        "ambiguous",
                                        "sequence_disagrees",
                                        "patches_disagree",
                                        "odometry_forbids",
                                        "standing_still"};
  return kNames.at(static_cast<std::size_t>(reason));
}

}  // namespace ria
