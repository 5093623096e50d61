// SPDX-License-Identifier: MIT
#include "serve/drives.h"

#include <fmt/format.h>

#include <random>

#include "pipeline/maker.h"
#include "serve/workers.h"

namespace ria {

namespace {

constexpr int kMostInMemory = 20000;  // frames of a drive that is kept nowhere else

/// Nobody else can guess it.
std::string new_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

LoopCloser closer_for(const ServedMap& map,
                      const std::filesystem::path& file,
                      DriveOptions options) {
  const Recognizer& recognizer = map.recognizer();
  options.loop.keep = options.into != DriveInto::kNone;
  if (options.into == DriveInto::kSession) {
    options.loop.max_places = kMostInMemory;
    Map own(recognizer.header(), Storage::kHalf);
    own.set_fitted(recognizer.fitted());
    return LoopCloser(RecognizerMaker::another(recognizer), std::move(own), options.loop);
  }
  const Access access = options.loop.keep ? Access::kWrite : Access::kRead;
  return LoopCloser(RecognizerMaker::another(recognizer), Map::open(file, access), options.loop);
}

}  // namespace

void Drives::forget_old() {
  std::erase_if(drives_, [&](const auto& entry) {
    return entry.second.drive && Clock::now() - entry.second.used > patience_;
  });
}

std::shared_ptr<ServedDrive> Drives::start(std::shared_ptr<ServedMap> map,
                                           const DriveOptions& options) {
  const std::string id = new_id();
  {
    const std::lock_guard lock(mutex_);
    forget_old();
    if (static_cast<int>(drives_.size()) >= most_) throw Busy("too many drives go on already");
    drives_[id] = {};
  }
  std::shared_ptr<ServedDrive> drive;
  try {
    LoopCloser closer = closer_for(*map, map->map().file(), options);
    drive.reset(new ServedDrive{id, options, map, {}, std::move(closer)});
  } catch (...) {
    const std::lock_guard lock(mutex_);
    drives_.erase(id);
    throw;
  }
  const std::lock_guard lock(mutex_);
  drives_[id] = {drive, Clock::now()};
  return drive;
}

std::shared_ptr<ServedDrive> Drives::find(const std::string& map, const std::string& id) {
  const std::lock_guard lock(mutex_);
  forget_old();
  const auto found = drives_.find(id);
  if (found == drives_.end() || !found->second.drive) return nullptr;
  if (found->second.drive->map->name() != map) return nullptr;
  found->second.used = Clock::now();
  return found->second.drive;
}

bool Drives::end(const std::string& map, const std::string& id) {
  if (!find(map, id)) return false;
  const std::lock_guard lock(mutex_);
  return drives_.erase(id) > 0;
}

int Drives::count() {
  const std::lock_guard lock(mutex_);
  forget_old();
  return static_cast<int>(drives_.size());
}

}  // namespace ria
