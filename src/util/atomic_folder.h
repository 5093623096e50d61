// SPDX-License-Identifier: MIT
// Folders that are written whole.
#pragma once

#include <filesystem>
#include <optional>

#include "util/temporary.h"

namespace ria {

/// A folder that appears under its name only when commit() has succeeded; until then it is a hidden
/// sibling that the destructor removes, with the folders above it that were made for it. Throws
/// std::runtime_error naming the folder if it exists or cannot be made.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path folder);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Where the files are to be written until commit().
  const std::filesystem::path& temporary() const { return temporary_->path(); }
  const std::filesystem::path& folder() const { return folder_; }
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path folder_;
  std::optional<MadeFolders> above_;
  std::optional<Temporary> temporary_;
};

}  // namespace ria
