// SPDX-License-Identifier: MIT
// What a map is made of.
#pragma once

#include <mutex>
#include <shared_mutex>

#include "index/rows.h"
#include "index/store.h"
#include "ria/map.h"

namespace ria {

/// Some places with everything that is kept of them; no or all local features.
struct PlaceBatch {
  std::vector<int> numbers;
  std::vector<Place> places;
  EncodedRows rows;
  std::vector<PackedLocalFeatures> locals;
};

struct [[gnu::visibility("hidden")]] Map::Impl {
  Impl(const std::filesystem::path& file,
       Database::Mode mode,
       const MapHeader& header,
       Storage storage,
       const std::filesystem::path& shown = {});
  Impl(const std::filesystem::path& file, Access access);

  MapState state() const;
  /// Throws std::invalid_argument naming what differs.
  void require_same(const Impl& other) const;
  void require_width(const Matrix& m) const;
  void require_finite(const Matrix& m) const;

  /// Calls body with the database to itself, on one state of the file.
  template <typename Body>
  void read(Body body) const {
    const std::lock_guard lock(database_mutex);
    store.database().reading([&] { body(store); });
  }
  /// The same for a change; what others have changed before is known then.
  template <typename Body>
  void write(Body body);

  /// Reads the descriptors if that is still to be done.
  void load() const;
  /// Within a transaction: takes over what is in the file.
  bool follow() const;
  /// Without numbers they get the next ones.
  int add(PlaceBatch batch);
  /// The next places from one on, at most so many.
  PlaceBatch next(int first, int count) const;

  std::filesystem::path file;
  Access access = Access::kWrite;
  MapStore store;
  std::map<std::string, Matrix> fitted;

  // Always in this order.
  mutable std::mutex database_mutex;     ///< of the store
  mutable std::shared_mutex rows_mutex;  ///< of what follows
  mutable MapState known;
  mutable std::int64_t version = 0;  ///< of the data that is known
  mutable Rows rows;
  mutable bool loaded = false;
};

}  // namespace ria
