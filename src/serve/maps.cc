// SPDX-License-Identifier: MIT
#include "serve/maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "pipeline/maker.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kMoment(200);

bool same_kind(const MapHeader& a, const MapHeader& b) {
  return a.method == b.method && a.options == b.options && a.weights_sha256 == b.weights_sha256;
}

}  // namespace

ServedMap::ServedMap(std::string name, Map map, Recognizer recognizer, Pictures pictures)
    : name_(std::move(name)),
      map_(std::move(map)),
      recognizer_(std::move(recognizer)),
      pictures_(std::move(pictures)) {}

Map& ServedMap::map() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (now - looked_ >= kMoment) {
    if (map_.refresh()) places_ = nullptr;
    looked_ = now;
  }
  return map_;
}

std::shared_ptr<const PlaceList> ServedMap::places() {
  map();
  const std::lock_guard lock(mutex_);
  if (!places_) {
    auto all = std::make_shared<PlaceList>();
    map_.each_place([&](int number, const Place& place) { all->emplace_back(number, place); });
    places_ = std::move(all);
  }
  return places_;
}

void ServedMap::changed() {
  const std::lock_guard lock(mutex_);
  places_ = nullptr;
  looked_ = {};
}

Maps::Maps(const ServeOptions& options) : options_(options) {
  for (const fs::path& given : options.maps) {
    if (!fs::is_directory(given)) {
      add(given);
      continue;
    }
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(given)) {
      if (entry.path().extension() == ".ria") files.push_back(entry.path());
    }
    if (files.empty())
      throw std::runtime_error(fmt::format("{}: no .ria file in it", given.string()));
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) add(file);
  }
}

void Maps::add(const fs::path& file) {
  Map::open(file);  // so that what is no map is told now
  std::string name = file.stem().string();
  auto entry = std::make_unique<Entry>();
  entry->file = file;
  const auto [there, added] = entries_.emplace(name, std::move(entry));
  if (!added) {
    throw std::runtime_error(
        fmt::format("{} and {} would both be the map '{}': other names were expected",
                    there->second->file.string(),
                    file.string(),
                    name));
  }
  names_.push_back(std::move(name));
}

std::shared_ptr<ServedMap> Maps::opened(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second->map;
}

std::shared_ptr<ServedMap> Maps::open(const std::string& name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return nullptr;
  Entry& entry = *found->second;
  const std::lock_guard opening(entry.opening);
  if (auto there = opened(name)) return there;
  Map map = Map::open(entry.file, options_.read_only ? Access::kRead : Access::kWrite);
  Recognizer recognizer = recognizer_for(map);
  auto served = std::make_shared<ServedMap>(
      name, std::move(map), std::move(recognizer), Pictures(entry.file, options_.pictures));
  const std::lock_guard lock(mutex_);
  return entry.map = std::move(served);
}

/// Maps of one method share its network.
Recognizer Maps::recognizer_for(const Map& map) const {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (!entry->map) continue;
      const Recognizer& other = entry->map->recognizer();
      if (same_kind(other.header(), map.header()) && other.fitted() == map.fitted()) {
        return RecognizerMaker::another(other);
      }
    }
  }
  try {
    return Recognizer(map, options_.backbone);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", map.file().string(), error.what()));
  }
}

}  // namespace ria
