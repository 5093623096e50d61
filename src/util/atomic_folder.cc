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
  make_parents();
  if (::mkdtemp(pattern.data()) == nullptr) {
    const int error = errno;
    remove();
    fail(error);
  }
  temporary_ = pattern;
  ::chmod(temporary_.c_str(), 0755);
}

AtomicFolder::~AtomicFolder() {
  if (!temporary_.empty()) remove();
}

void AtomicFolder::make_parents() {
  fs::path above;
  for (const fs::path& part : folder_.parent_path()) {
    above /= part;
    std::error_code error, ignored;
    if (fs::create_directory(above, error)) made_.push_back(above);
    if (error && !fs::is_directory(above, ignored)) {
      remove();
      fail(error.value());
    }
  }
}

void AtomicFolder::remove() const {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  // Only empty ones go: another run may have put something there.
  for (auto above = made_.rbegin(); above != made_.rend(); ++above) fs::remove(*above, ignored);
}

void AtomicFolder::fail(int error) const {
  throw std::runtime_error("cannot make folder " + folder_.string() + ": " + std::strerror(error));
}

void AtomicFolder::commit() {
  if (std::rename(temporary_.c_str(), folder_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

}  // namespace ria
