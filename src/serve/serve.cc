// SPDX-License-Identifier: MIT
#include "ria/serve.h"

#include <fmt/format.h>

#include <stdexcept>

#include "serve/http.h"
#include "serve/service.h"
#include "util/plugin.h"

namespace ria {

namespace {

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

HttpOptions http_options(const ServeOptions& options) {
  constexpr std::size_t kMegabyte = 1000 * 1000;
  HttpOptions http;
  http.host = options.host;
  http.port = options.port;
  http.certificate = options.certificate.string();
  http.key = options.key.string();
  http.max_body = static_cast<std::size_t>(options.max_body) * kMegabyte;
  // As many as are worked at or wait, if they were all of some size: hostile ones are not.
  http.max_bodies = 8 * http.max_body;
  http.max_connections = options.max_connections;
  http.request_seconds = options.request_seconds;
  http.idle_seconds = options.idle_seconds;
  return http;
}

}  // namespace

void ServeOptions::validate() const {
  const auto require = [](bool holds, const char* field, const auto& value, const char* expected) {
    if (holds) return;
    throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  require(!maps.empty(), "maps", "empty", "a map file or a folder of them");
  require(port >= 0 && port <= 65535, "port", port, "a number from 0 to 65535");
  require(!host.empty(), "host", "empty", "an address");
  require(num_threads >= 0, "num_threads", num_threads, "0 (all cores) or more");
  require(
      max_queue >= 0 && max_queue <= 100000, "max_queue", max_queue, "a number from 0 to 100000");
  require(max_connections >= 1 && max_connections <= 10000,
          "max_connections",
          max_connections,
          "a number from 1 to 10000");
  require(max_body >= 1 && max_body <= 1024, "max_body", max_body, "megabytes from 1 to 1024");
  require(
      max_pixels >= 1 && max_pixels <= 1073, "max_pixels", max_pixels, "millions from 1 to 1073");
  require(
      max_drives >= 0 && max_drives <= 10000, "max_drives", max_drives, "a number from 0 to 10000");
  require(request_seconds > 0, "request_seconds", request_seconds, "more than 0");
  require(idle_seconds > 0, "idle_seconds", idle_seconds, "more than 0");
  require(drive_seconds > 0, "drive_seconds", drive_seconds, "more than 0");
  require(log == "text" || log == "json" || log == "none", "log", log, "text, json or none");
  require(certificate.empty() == key.empty(),
          "key",
          key.empty() ? "empty" : key.string(),
          "a certificate and its key");
}

void serve(const ServeOptions& options, const ServeListener& listener, std::stop_token stop) {
  options.validate();
  const auto& http = plugin<HttpFunctions>(
      {"http", "serving maps", "cpp-httplib", "apt-get install libcpp-httplib0.11"});
  Service service(options, listener.log);
  if (!is_loopback(options.host) && service.tokens().open_to_all() && listener.remark) {
    listener.remark(fmt::format(
        "everyone who reaches {} may read and change the maps: --tokens FILE says who may",
        options.host));
  }
  if (service.maps().names().size() == 1) service.maps().open(service.maps().names().front());
  const std::stop_callback ending(stop, [&] { service.end(); });
  HttpHandlers handlers;
  handlers.admit = [&](const HttpRequest& request) { return service.admit(request); };
  handlers.answer = [&](const HttpRequest& request) { return service.answer(request); };
  handlers.error = [&](int status) { return service.error(status); };
  handlers.record = [&](const HttpRecord& record) { service.record(record); };
  handlers.listening = [&](int port) {
    const bool v6 = options.host.find(':') != options.host.npos;
    if (listener.ready) {
      listener.ready(fmt::format("{}://{}{}{}:{}/",
                                 options.certificate.empty() ? "http" : "https",
                                 v6 ? "[" : "",
                                 options.host,
                                 v6 ? "]" : "",
                                 port));
    }
  };
  http.run(http_options(options), handlers, stop);
}

}  // namespace ria
