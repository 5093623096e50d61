// SPDX-License-Identifier: MIT
// Maps over HTTP: docs/service.md has the requests.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/backbone.h"

namespace ria {

/// Fields carry the flags' names of `ria serve`.
struct RIA_API ServeOptions {
  /// Map files, and folders whose .ria files are meant. A map is known by its file's name without
  /// the ending and opened when it is first asked for; one alone, at once.
  std::vector<std::filesystem::path> maps;
  std::string host = "127.0.0.1";     ///< address to listen on
  int port = 8080;                    ///< 0: any that is free
  std::filesystem::path tokens;       ///< lines `read TOKEN`, `write TOKEN`; empty: all may write
  std::filesystem::path certificate;  ///< PEM; empty: no TLS
  std::filesystem::path key;          ///< PEM
  std::filesystem::path pictures;     ///< originals by the places' names; empty: none
  bool read_only = false;             ///< maps are opened for reading
  int num_threads = 0;                ///< pictures described at a time; 0: as many as cores
  int max_queue = 64;                 ///< pictures that wait; beyond it requests get 429
  int max_connections = 256;          ///< beyond it 503
  int max_body = 32;                  ///< megabytes of a request
  int max_pixels = 64;                ///< millions, of a picture
  int max_drives = 16;                ///< sessions at a time
  double request_seconds = 30;        ///< a request has for its bytes
  double idle_seconds = 60;           ///< between two requests of a connection
  double drive_seconds = 600;         ///< a drive without frames is ended
  std::string log = "text";           ///< a line a request: text, json or none
  BackboneOptions backbone;           ///< weights alone, for methods whose file is elsewhere

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// What the service says while it runs.
struct ServeListener {
  std::function<void(const std::string& url)> ready;      ///< requests are taken from here on
  std::function<void(const std::string& line)> log;       ///< from many threads
  std::function<void(const std::string& remark)> remark;  ///< something to know about the options
};

/// Serves until the stop, then answers what it has begun and returns. Throws std::runtime_error:
/// a map that cannot be opened, a port that is taken, no libria-http.so.
RIA_API void serve(const ServeOptions& options,
                   const ServeListener& listener,
                   std::stop_token stop);

}  // namespace ria
