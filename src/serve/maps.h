// SPDX-License-Identifier: MIT
// The maps that are served, opened when they are first asked for.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ria/map.h"
#include "ria/recognizer.h"
#include "ria/serve.h"
#include "serve/pictures.h"

namespace ria {

/// Places by rising number, as they were at one time.
using PlaceList = std::vector<std::pair<int, Place>>;

/// A map with its method and pictures.
class ServedMap {
 public:
  ServedMap(std::string name, Map map, Recognizer recognizer, Pictures pictures);

  const std::string& name() const { return name_; }
  const Recognizer& recognizer() const { return recognizer_; }
  const Pictures& pictures() const { return pictures_; }
  /// As other processes, and drives, have left it, at most a moment ago.
  Map& map();
  /// All places; read again only when something has changed.
  std::shared_ptr<const PlaceList> places();
  /// They are read again.
  void changed();

 private:
  const std::string name_;
  Map map_;
  const Recognizer recognizer_;
  const Pictures pictures_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point looked_;
  std::shared_ptr<const PlaceList> places_;  // nullptr: to be read
};

class Maps {
 public:
  /// Throws std::runtime_error for a file that is no map, and two of one name.
  explicit Maps(const ServeOptions& options);

  const std::vector<std::string>& names() const { return names_; }
  bool writable() const { return !options_.read_only; }
  /// nullptr: there is none of this name. Opens it, which others of the same map wait for.
  std::shared_ptr<ServedMap> open(const std::string& name);
  /// nullptr: not opened yet.
  std::shared_ptr<ServedMap> opened(const std::string& name) const;

 private:
  struct Entry {
    std::filesystem::path file;
    std::mutex opening;
    std::shared_ptr<ServedMap> map;  // guarded by mutex_
  };
  void add(const std::filesystem::path& file);
  Recognizer recognizer_for(const Map& map) const;

  const ServeOptions& options_;
  std::vector<std::string> names_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  mutable std::mutex mutex_;
};

}  // namespace ria
