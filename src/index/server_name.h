// SPDX-License-Identifier: MIT
// Names of maps on a server: postgresql://user@host/database?schema=street&ef_search=200.
#pragma once

#include <filesystem>
#include <string>

#include "ria/push.h"

namespace ria {

/// postgresql://... or postgres://...
bool is_server_name(const std::filesystem::path& file);

/// What a name says.
struct ServerName {
  /// Throws std::invalid_argument naming the parameter.
  explicit ServerName(const std::string& name);
  /// Text that may repeat the name, or its password, without either.
  std::string without_password(std::string text) const;

  std::string name;            ///< as given
  std::string shown;           ///< for messages
  std::string url;             ///< for libpq: without the parameters that are ria's
  std::string schema = "ria";  ///< the map's own
  int ef_search = 100;         ///< places a search in the index keeps in sight, 1 to 1000
  bool exact = false;          ///< search=exact: leaves the index aside
  int retry_seconds = 60;      ///< how long a lost server is waited for
};

}  // namespace ria
