// SPDX-License-Identifier: MIT
// Which place a map misses least: the one that others show best.
#pragma once

#include <map>
#include <optional>

#include "ria/map.h"

namespace ria {

class Redundancy {
 public:
  /// Reads how alike neighbours are, of a map that was left off.
  void restore(const Map& map);
  /// A place was added behind all others.
  void add(const Map& map, int place);
  /// The place `later` shows what `earlier` showed, so alike.
  void show_again(int earlier, int later, double cosine);
  /// The place below `before` that is shown best elsewhere; the older of equals.
  std::optional<int> most(int before) const;
  /// Before it is removed from the map.
  void forget(const Map& map, int place);

 private:
  struct Shown {
    double next = -1;   // cosine with the place behind it
    double again = -1;  // with the one that shows it again
    int by = -1;        // which that is
  };

  void compare(const Map& map, int place, int next);

  std::map<int, Shown> places_;
};

}  // namespace ria
