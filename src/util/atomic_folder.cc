// SPDX-License-Identifier: MIT
#include "util/atomic_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace ria {

namespace fs = std::filesystem;

AtomicFolder::AtomicFolder(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  if (fs::exists(folder_, ignored)) fail(EEXIST);
  const fs::path above = folder_.has_parent_path() ? folder_.parent_path() : fs::path(".");
  std::string pattern = (above / ("." + folder_.filename().string() + ".XXXXXX")).string();
  above_.emplace(above);
  const auto held = hold_temporaries();
  if (::mkdtemp(pattern.data()) == nullptr) fail(errno);
  temporary_.emplace(pattern);
  ::chmod(pattern.c_str(), 0755);
}

void AtomicFolder::fail(int error) const {
  throw std::runtime_error("cannot make folder " + folder_.string() + ": " + std::strerror(error));
}

void AtomicFolder::commit() {
  const auto held = hold_temporaries();
  if (std::rename(temporary().c_str(), folder_.c_str()) != 0) fail(errno);
  temporary_->keep();
  above_->keep();
}

}  // namespace ria
