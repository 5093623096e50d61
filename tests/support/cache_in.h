// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>

namespace ria {

/// Moves the cache below a folder for the length of a scope: the one of the person who runs the
/// tests is not theirs to fill.
class CacheIn {
 public:
  explicit CacheIn(const std::filesystem::path& folder) {
    if (const char* before = ::getenv(kVariable)) before_ = before;
    ::setenv(kVariable, folder.c_str(), 1);
  }
  ~CacheIn() { before_ ? ::setenv(kVariable, before_->c_str(), 1) : ::unsetenv(kVariable); }
  CacheIn(const CacheIn&) = delete;
  CacheIn& operator=(const CacheIn&) = delete;

 private:
  static constexpr char kVariable[] = "XDG_CACHE_HOME";
  std::optional<std::string> before_;
};

}  // namespace ria
