// SPDX-License-Identifier: MIT
// What a long run has finished, kept on disk until the run ends, so that the next one goes on from
// there.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace ria {

/// A run's name: what is done, and to which pictures (path, size and time of change of each).
std::string run_fingerprint(std::string what, const std::vector<std::filesystem::path>& pictures);

/// Records of one run, of any length and appended in any order. A journal that cannot be written
/// only costs the resuming: it never fails the run.
class Journal {
 public:
  /// `fingerprint` names the run: the same pictures, methods, options and weights; see
  /// run_fingerprint().
  explicit Journal(const std::string& fingerprint);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  struct Record {
    int picture = 0;
    std::vector<float> values;
  };
  /// Shows what an earlier run left, for pictures in [0, total), one record at a time. A damaged
  /// record and what follows it are left out and cut off. Comes before the first append(), which
  /// drops what was not taken.
  void take(int total, const std::function<void(Record&&)>& visit);

  /// Called from any thread. Reaches the disk every two seconds, when enough is waiting, and when
  /// the run is interrupted.
  void append(const Record& record);
  /// Replaces all records by those that next() gives until it returns false: for a run that needs
  /// less of its old records than they hold. The file is always the old one or the new one, whole;
  /// without room for the new one the old one stays.
  void rewrite(const std::function<bool(Record&)>& next);
  void flush();
  /// The run is complete: nothing is kept.
  void remove();
  /// Of the records so far, on the disk and on their way to it.
  std::uint64_t bytes() const;

 private:
  void put(const Record& record);
  void write_pending();
  void write_through(const void* data, std::size_t size);
  void give_up();

  std::filesystem::path file_;  // empty: nothing is kept
  int descriptor_ = -1;
  mutable std::mutex mutex_;
  std::vector<std::uint8_t> pending_;
  std::uint64_t written_ = 0;  // bytes
  std::chrono::steady_clock::time_point last_write_ = std::chrono::steady_clock::now();
};

}  // namespace ria
