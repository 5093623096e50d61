// SPDX-License-Identifier: MIT
#include "util/temporary.h"

#include <stdexcept>
#include <utility>
#include <vector>

namespace ria {

namespace fs = std::filesystem;

namespace {

struct Registry {
  std::recursive_mutex mutex;
  std::vector<const Temporary*> all;  // oldest first
};

Registry& registry() {
  static Registry& only = *new Registry;  // threads may need it while the process ends
  return only;
}

}  // namespace

std::unique_lock<std::recursive_mutex> hold_temporaries() {
  return std::unique_lock(registry().mutex);
}

void remove_temporaries() {
  hold_temporaries().release();
  const auto& all = registry().all;
  for (auto one = all.rbegin(); one != all.rend(); ++one) (*one)->remove();
}

Temporary::Temporary(fs::path path, Removal removal) : path_(std::move(path)), removal_(removal) {
  const auto held = hold_temporaries();
  registry().all.push_back(this);
}

Temporary::~Temporary() {
  const auto held = hold_temporaries();
  remove();
  std::erase(registry().all, this);
}

void Temporary::keep() {
  const auto held = hold_temporaries();
  kept_ = true;
}

void Temporary::remove() const {
  if (kept_) return;
  std::error_code ignored;
  removal_ == Removal::kWhole ? fs::remove_all(path_, ignored)
                              : static_cast<std::uintmax_t>(fs::remove(path_, ignored));
}

MadeFolders::MadeFolders(const fs::path& folder) {
  try {
    make(folder);
  } catch (...) {
    remove();
    throw;
  }
}

MadeFolders::~MadeFolders() { remove(); }

void MadeFolders::make(const fs::path& folder) {
  const auto held = hold_temporaries();
  fs::path above;
  for (const fs::path& part : folder) {
    above /= part;
    std::error_code error, ignored;
    if (fs::create_directory(above, error)) {
      made_.emplace_back(above, Temporary::Removal::kIfEmpty);
    }
    if (error && !fs::is_directory(above, ignored)) {
      throw std::runtime_error("cannot make folder " + folder.string() + ": " + error.message());
    }
  }
}

void MadeFolders::remove() {
  while (!made_.empty()) made_.pop_back();
}

void MadeFolders::keep() {
  for (Temporary& folder : made_) folder.keep();
}

}  // namespace ria
