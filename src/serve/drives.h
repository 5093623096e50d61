// SPDX-License-Identifier: MIT
// Sessions of robots: pictures of a drive, one after the other.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ria/loop.h"
#include "serve/maps.h"

namespace ria {

/// Where the frames of a drive are kept.
enum class DriveInto { kMap, kSession, kNone };

struct DriveOptions {
  DriveInto into = DriveInto::kMap;
  std::string name;
  LoopOptions loop;
};

struct ServedDrive {
  std::string id;
  DriveOptions options;
  std::shared_ptr<ServedMap> map;
  std::mutex mutex;  ///< of what follows: frames come one after the other
  LoopCloser closer;
  int frames = 0;
  int loops = 0;
};

/// All that go on. A drive that had no frame for a while is ended.
class Drives {
 public:
  Drives(int most, double seconds) : most_(most), patience_(seconds) {}

  /// Throws Busy where there are too many, std::invalid_argument where the method keeps no patches.
  std::shared_ptr<ServedDrive> start(std::shared_ptr<ServedMap> map, const DriveOptions& options);
  /// nullptr: none of this map. It is kept for a while again.
  std::shared_ptr<ServedDrive> find(const std::string& map, const std::string& id);
  bool end(const std::string& map, const std::string& id);
  int count();

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::shared_ptr<ServedDrive> drive;  // nullptr: being made
    Clock::time_point used;
  };
  void forget_old();

  const int most_;
  const std::chrono::duration<double> patience_;
  std::mutex mutex_;
  std::map<std::string, Entry> drives_;
};

}  // namespace ria
