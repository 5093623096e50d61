// SPDX-License-Identifier: MIT
// What a long run has finished, kept on disk until the run ends, so that the next one goes on from
// there.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace ria {

/// Records of one run, appended in any order. A journal that cannot be written only costs the
/// resuming: it never fails the run.
class Journal {
 public:
  /// `fingerprint` names the run: the same pictures, methods, options and weights.
  Journal(const std::string& fingerprint, int record_floats);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  struct Record {
    int picture = 0;
    std::array<int, 2> image_size{};
    std::vector<float> values;
  };
  /// What an earlier run left, for pictures in [0, total). Damaged records are left out.
  std::vector<Record> take(int total);

  /// Called from any thread. Reaches the disk every two seconds and when the run is interrupted.
  void append(const Record& record);
  void flush();
  /// The run is complete: nothing is kept.
  void remove();

 private:
  void write_pending();

  int record_floats_;
  std::filesystem::path file_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::vector<std::uint8_t> pending_;
  std::chrono::steady_clock::time_point last_write_ = std::chrono::steady_clock::now();
};

}  // namespace ria
