// SPDX-License-Identifier: MIT
// What must not outlive the process: files and folders that are not finished.
#pragma once

#include <deque>
#include <filesystem>
#include <mutex>

namespace ria {

/// Removes every Temporary of a process that is about to end without its destructors. Whoever would
/// make or rename one afterwards waits for ever.
void remove_temporaries();

/// While it is held, remove_temporaries() waits: for steps that are done together or not at all.
/// Keep it short.
[[nodiscard]] std::unique_lock<std::recursive_mutex> hold_temporaries();

/// A file or folder that goes with its owner, or with the process.
class Temporary {
 public:
  enum class Removal { kWhole, kIfEmpty };

  explicit Temporary(std::filesystem::path path, Removal removal = Removal::kWhole);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// It stays, or has been renamed.
  void keep();

 private:
  friend void remove_temporaries();
  void remove() const;

  std::filesystem::path path_;
  Removal removal_;
  bool kept_ = false;
};

/// A folder with those above it. What did not exist is made now and removed again, where still
/// empty, unless keep() was called. Throws std::runtime_error naming the folder.
class MadeFolders {
 public:
  explicit MadeFolders(const std::filesystem::path& folder);
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  void keep();

 private:
  void make(const std::filesystem::path& folder);
  void remove();

  std::deque<Temporary> made_;  // outermost first
};

}  // namespace ria
