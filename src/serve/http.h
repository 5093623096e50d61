// SPDX-License-Identifier: MIT
// What crosses to libria-http.so: requests, answers, limits. cpp-httplib lives only there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace ria {

struct HttpRequest {
  std::string method;
  std::string target;  ///< path and query as they came, not decoded
  std::string content_type;
  std::string authorization;
  std::string host;
  std::string origin;                ///< of a page in a browser
  std::uint64_t content_length = 0;  ///< as promised; 0: nothing was
  bool has_body = false;             ///< something follows, perhaps of unknown length
  /// The body, or of a multipart one the part named "picture".
  std::string body;
  std::map<std::string, std::string> fields;  ///< the other parts
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// A request that was answered, by whomever.
struct HttpRecord {
  std::string method;
  std::string target;
  std::string remote;
  int status = 0;
  std::size_t bytes = 0;  ///< of the answer's body
  double seconds = 0;     ///< from the first byte to the answer
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;             ///< 0: any that is free
  std::string certificate;  ///< PEM file; empty: no TLS
  std::string key;
  std::size_t max_body = 0;        ///< bytes
  std::size_t max_bodies = 0;      ///< bytes of all requests that are being read or answered
  std::size_t max_header = 32768;  ///< bytes of a request before its body
  int max_connections = 0;
  double request_seconds = 0;  ///< from the first byte of a request to the last
  double idle_seconds = 0;     ///< between two requests
};

/// They may throw nothing and are called from many threads.
struct HttpHandlers {
  /// Asked when the head of a request is there, before its body is read: an answer refuses it.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> admit;
  std::function<HttpResponse(const HttpRequest&)> answer;
  /// The body for a status that the server itself gives.
  std::function<HttpResponse(int status)> error;
  std::function<void(const HttpRecord&)> record;
  std::function<void(int port)> listening;
};

struct HttpFunctions {
  /// Serves until the stop; returns when every request that had begun is answered. Throws
  /// std::runtime_error: the port is taken, a certificate cannot be read.
  void (*run)(const HttpOptions& options, const HttpHandlers& handlers, std::stop_token stop);
};

}  // namespace ria
