// SPDX-License-Identifier: MIT
// A map brought to a PostgreSQL server, where one machine is outgrown.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "ria/api.h"
#include "ria/map.h"

namespace ria {

/// How a map lies on the server.
struct RIA_API PushOptions {
  /// Partitions of a new map: place N is in partition N % shards. Tables of other servers may take
  /// their places.
  int shards = 1;
  /// How the map is searched from then on: exact, hnsw, or auto: hnsw from 10,000 places on, where
  /// descriptors have at most 4,000 dims, else as it was.
  std::string search = "auto";
  int m = 16;                ///< neighbours of a place in the HNSW index, 2 to 100
  int ef_construction = 64;  ///< places kept in sight while it is built, at least 2 m, to 1000
  std::function<void(int done, int total)> progress;  ///< places
  std::function<void(const std::string&)> remark;  ///< one line on what takes long or is not done
  std::stop_token stop;

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Adds the places of a map to the one of this name, which is made if it is missing, but those
/// whose name is there already: what was interrupted goes on. Returns how many were added. Throws
/// as Map::merge() does, and Interrupted.
RIA_API int push_map(const Map& map, const std::string& server, const PushOptions& options = {});

/// The name of a map as it may be shown: without the password, where it has one.
RIA_API std::string shown_name(const std::string& name);

}  // namespace ria
