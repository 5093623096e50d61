// SPDX-License-Identifier: MIT
// Folders that are written whole.
#pragma once

#include <filesystem>
#include <vector>

namespace ria {

/// A folder that appears under its name only when commit() has succeeded; until then it is a hidden
/// sibling that the destructor removes, with the folders above it that were made for it. Throws
/// std::runtime_error naming the folder if it exists or cannot be made.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path folder);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Where the files are to be written until commit().
  const std::filesystem::path& temporary() const { return temporary_; }
  const std::filesystem::path& folder() const { return folder_; }
  void commit();

 private:
  void make_parents();
  void remove() const;
  [[noreturn]] void fail(int error) const;

  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  std::vector<std::filesystem::path> made_;  // outermost first
};

}  // namespace ria
