// SPDX-License-Identifier: MIT
// Requests -> answers, whoever speaks HTTP.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ria/serve.h"
#include "serve/asked.h"
#include "serve/drives.h"
#include "serve/http.h"
#include "serve/maps.h"
#include "serve/metrics.h"
#include "serve/tokens.h"
#include "serve/workers.h"

namespace ria {

class Service {
 public:
  /// Throws what Tokens and Maps throw. `log` is told a line a request.
  Service(const ServeOptions& options, std::function<void(const std::string&)> log);

  /// For the server; they throw nothing.
  std::optional<HttpResponse> admit(const HttpRequest& request);
  HttpResponse answer(const HttpRequest& request);
  HttpResponse error(int status) const;
  void record(const HttpRecord& record);

  const Tokens& tokens() const { return tokens_; }
  Maps& maps() { return maps_; }
  /// From here on /healthz says that the service ends.
  void end() { ending_ = true; }

 private:
  struct Route {
    const char* method;
    const char* path;       ///< "/v1/maps/{map}"
    const char* operation;  ///< as openapi.json calls it
    Right right;            ///< what it takes
    bool works;             ///< it needs a core for a while
    HttpResponse (Service::*handler)(const Asked&);
  };
  static const std::vector<Route>& routes();
  /// Throws HttpError 404 or 405.
  const Route& find(const std::string& method, const Target& target) const;
  /// Whether this request may be made at all; throws HttpError.
  std::pair<const Route&, Asked> checked(const HttpRequest& request) const;
  void check_origin(const HttpRequest& request) const;

  // One a route.
  HttpResponse page(const Asked& asked);
  HttpResponse health(const Asked& asked);
  HttpResponse metrics(const Asked& asked);
  HttpResponse list_maps(const Asked& asked);
  HttpResponse get_map(const Asked& asked);
  HttpResponse query(const Asked& asked);
  HttpResponse describe(const Asked& asked);
  HttpResponse list_places(const Asked& asked);
  HttpResponse add_place(const Asked& asked);
  HttpResponse get_place(const Asked& asked);
  HttpResponse remove_place(const Asked& asked);
  HttpResponse thumbnail(const Asked& asked);
  HttpResponse start_drive(const Asked& asked);
  HttpResponse get_drive(const Asked& asked);
  HttpResponse end_drive(const Asked& asked);
  HttpResponse add_frame(const Asked& asked);

  /// The map that the path names; throws HttpError 404.
  std::shared_ptr<ServedMap> map_of(const Asked& asked);
  std::shared_ptr<ServedDrive> drive_of(const Asked& asked);
  /// The place's number in the path; throws HttpError 404.
  std::pair<int, Place> place_of(const Asked& asked, ServedMap& map) const;
  nlohmann::ordered_json map_json(const std::string& name, Right right);
  /// Throws HttpError 400, 413 or 415.
  Image picture_of(const Asked& asked, const LoadOptions& options) const;
  /// Workers::run() for a request, which may have waited too long.
  void work(const std::function<void(int cores)>& body);

  const ServeOptions options_;
  const std::function<void(const std::string&)> log_;
  const Tokens tokens_;
  Maps maps_;
  Drives drives_;
  Metrics metrics_;
  Workers workers_;
  std::atomic<bool> ending_ = false;
};

/// An answer of JSON.
HttpResponse json_response(const nlohmann::ordered_json& json, int status = 200);
/// {"error": reason}
HttpResponse error_response(int status, const std::string& reason);
/// What is known of a place; `map` for its addresses.
nlohmann::ordered_json place_json(const ServedMap& map, int number, const Place& place);
/// Percent-encoded, to stand between two slashes.
std::string encoded_segment(const std::string& text);

}  // namespace ria
