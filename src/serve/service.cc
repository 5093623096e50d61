// SPDX-License-Identifier: MIT
#include "serve/service.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "archive/bytes.h"
#include "image/codec.h"
#include "image/format.h"
#include "serve/page.h"
#include "util/json.h"

namespace ria {

using nlohmann::ordered_json;

namespace {

const char* reason_for(int status) {
  switch (status) {
    case 400:
      return "this is no request as HTTP has them";
    case 404:
      return "there is nothing at this address";
    case 408:
      return "the request did not come in time";
    case 413:
      return "the body is larger than this service takes";
    case 414:
      return "the address is too long";
    case 429:
      return "the service has too much to do: try again";
    case 431:
      return "the head of the request is too large";
    case 503:
      return "the service has too many clients: try again";
    default:
      return "the request could not be answered";
  }
}

std::vector<std::string> segments(const std::string& path) { return parse_target(path).path; }

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  return std::equal(
      pattern.begin(), pattern.end(), path.begin(), path.end(), [](const auto& a, const auto& b) {
        return a.starts_with('{') ? !b.empty() : a == b;
      });
}

const PageFile* page_file(const std::vector<std::string>& path) {
  if (path.size() != 1) return nullptr;
  const std::string& name = path[0].empty() ? std::string("index.html") : path[0];
  for (const PageFile& file : page_files()) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

std::string content_type(std::string_view name) {
  const std::string_view ending = name.substr(std::min(name.rfind('.'), name.size()));
  if (ending == ".html") return "text/html; charset=utf-8";
  if (ending == ".js" || ending == ".mjs") return "text/javascript; charset=utf-8";
  if (ending == ".css") return "text/css; charset=utf-8";
  if (ending == ".svg") return "image/svg+xml";
  if (ending == ".json") return "application/json";
  return "application/octet-stream";
}

/// Without the port.
std::string host_name(std::string host) {
  const std::size_t colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) host.resize(colon);
  return host;
}

bool is_loopback_name(const std::string& host) {
  const std::string name = host_name(host);
  return name == "localhost" || name == "[::1]" || name == "::1" || name.starts_with("127.");
}

}  // namespace

HttpResponse json_response(const ordered_json& json, int status) {
  return {status, "application/json", json_text(json) + "\n", {}};
}

HttpResponse error_response(int status, const std::string& reason) {
  HttpResponse response = json_response({{"error", reason}}, status);
  if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", "1");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

std::string encoded_segment(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

const std::vector<Service::Route>& Service::routes() {
  using S = Service;
  constexpr bool kWorks = true;
  static const std::vector<Route> all{
      {"GET", "/healthz", "getHealth", Right::kNone, false, &S::health},
      {"GET", "/metrics", "getMetrics", Right::kRead, false, &S::metrics},
      {"GET", "/v1/maps", "listMaps", Right::kRead, false, &S::list_maps},
      {"GET", "/v1/maps/{map}", "getMap", Right::kRead, false, &S::get_map},
      {"POST", "/v1/maps/{map}/query", "queryMap", Right::kRead, kWorks, &S::query},
      {"POST", "/v1/maps/{map}/describe", "describePicture", Right::kRead, kWorks, &S::describe},
      {"GET", "/v1/maps/{map}/places", "listPlaces", Right::kRead, false, &S::list_places},
      {"POST", "/v1/maps/{map}/places", "addPlace", Right::kWrite, kWorks, &S::add_place},
      {"GET", "/v1/maps/{map}/places/{id}", "getPlace", Right::kRead, false, &S::get_place},
      {"DELETE",
       "/v1/maps/{map}/places/{id}",
       "removePlace",
       Right::kWrite,
       false,
       &S::remove_place},
      {"GET",
       "/v1/maps/{map}/places/{id}/thumbnail",
       "getThumbnail",
       Right::kRead,
       false,
       &S::thumbnail},
      {"POST", "/v1/maps/{map}/drives", "startDrive", Right::kRead, false, &S::start_drive},
      {"GET", "/v1/maps/{map}/drives/{drive}", "getDrive", Right::kRead, false, &S::get_drive},
      {"DELETE", "/v1/maps/{map}/drives/{drive}", "endDrive", Right::kRead, false, &S::end_drive},
      {"POST",
       "/v1/maps/{map}/drives/{drive}/frames",
       "addFrame",
       Right::kRead,
       kWorks,
       &S::add_frame},
  };
  return all;
}

Service::Service(const ServeOptions& options, std::function<void(const std::string&)> log)
    : options_(options),
      log_(std::move(log)),
      tokens_(options.tokens.empty() ? Tokens() : Tokens(options.tokens)),
      maps_(options_),
      drives_(options.max_drives, options.drive_seconds),
      workers_(options.num_threads, options.max_queue) {}

const Service::Route& Service::find(const std::string& method, const Target& target) const {
  static const Route page_route{"GET", "/", "getPage", Right::kNone, false, &Service::page};
  static const std::vector<std::vector<std::string>> patterns = [] {
    std::vector<std::vector<std::string>> all;
    for (const Route& route : routes()) all.push_back(segments(route.path));
    return all;
  }();
  const std::string wanted = method == "HEAD" ? "GET" : method;
  std::string others;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!fits(patterns[i], target.path)) continue;
    if (routes()[i].method == wanted) return routes()[i];
    others += (others.empty() ? "" : ", ") + std::string(routes()[i].method);
  }
  if (page_file(target.path) != nullptr) {
    if (wanted == "GET") return page_route;
    others = "GET";
  }
  if (others.empty()) throw HttpError(404, reason_for(404));
  throw HttpError(405, fmt::format("{} is not known here, only {}", printable(method), others));
}

/// A browser sends pages' requests wherever they are meant to go: those of other sites, and names
/// that were made to lead here, are refused.
void Service::check_origin(const HttpRequest& request) const {
  if (is_loopback_name(options_.host) && !request.host.empty() && !is_loopback_name(request.host)) {
    throw HttpError(403, "this service is asked as localhost, not by another name");
  }
  if (request.origin.empty()) return;
  const std::size_t begin = request.origin.find("://");
  if (begin == request.origin.npos || request.origin.substr(begin + 3) != request.host) {
    throw HttpError(403, "pages of other sites may not ask");
  }
}

std::pair<const Service::Route&, Asked> Service::checked(const HttpRequest& request) const {
  const Target target = parse_target(request.target);
  check_origin(request);
  const Route& route = find(request.method, target);
  const Right right = tokens_.right_of(request.authorization);
  if (route.right != Right::kNone && right == Right::kNone) {
    throw HttpError(401, "a token was expected: Authorization: Bearer TOKEN");
  }
  if (route.right > right) throw HttpError(403, "this token may read, not write");
  if (route.right == Right::kWrite && options_.read_only) {
    throw HttpError(403, "this service is for reading: it was started with --read_only");
  }
  return {route, Asked(request, target, right)};
}

std::optional<HttpResponse> Service::admit(const HttpRequest& request) {
  try {
    if (checked(request).first.works && workers_.full()) return error(429);
    return std::nullopt;
  } catch (const HttpError& error) {
    return error_response(error.status, error.what());
  } catch (const std::exception& error) {
    return error_response(500, error.what());
  }
}

HttpResponse Service::answer(const HttpRequest& request) {
  try {
    const auto [route, asked] = checked(request);
    return (this->*route.handler)(asked);
  } catch (const HttpError& error) {
    return error_response(error.status, error.what());
  } catch (const Busy& error) {
    return error_response(429, error.what());
  } catch (const PictureTooLarge& error) {
    return error_response(413, error.what());
  } catch (const std::invalid_argument& error) {
    return error_response(400, error.what());
  } catch (const std::bad_alloc&) {
    return error_response(503, "there is not enough memory now: try again");
  } catch (const std::exception& error) {
    return error_response(500, error.what());
  }
}

HttpResponse Service::error(int status) const { return error_response(status, reason_for(status)); }

void Service::record(const HttpRecord& record) {
  std::string operation = "none";
  try {
    operation = find(record.method, parse_target(record.target)).operation;
  } catch (const HttpError&) {
  }
  metrics_.record(operation, record.status, record.seconds);
  if (options_.log == "none" || !log_) return;
  const std::string time = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  if (options_.log == "json") {
    log_(json_text(ordered_json{{"time", time},
                                {"remote", record.remote},
                                {"method", record.method},
                                {"target", record.target},
                                {"operation", operation},
                                {"status", record.status},
                                {"bytes", record.bytes},
                                {"ms", record.seconds * 1000}}));
  } else {
    log_(fmt::format("{} {} {} {} {} {} B {:.1f} ms",
                     time,
                     record.remote,
                     record.method.empty() ? "-" : printable(record.method),
                     record.target.empty() ? "-" : printable(record.target),
                     record.status,
                     record.bytes,
                     record.seconds * 1000));
  }
}

HttpResponse Service::page(const Asked& asked) {
  const PageFile& file = *page_file(asked.path());
  HttpResponse response{200, content_type(file.name), std::string(file.content), {}};
  response.headers = {{"Cache-Control", "no-cache"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Content-Security-Policy",
                       "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
                       "frame-ancestors 'none'"}};
  return response;
}

HttpResponse Service::health(const Asked&) {
  return json_response({{"status", ending_ ? "ending" : "ok"}}, ending_ ? 503 : 200);
}

HttpResponse Service::metrics(const Asked&) {
  double open = 0, places = 0;
  for (const std::string& name : maps_.names()) {
    const auto map = maps_.opened(name);
    if (!map) continue;
    ++open;
    places += map->map().size();
  }
  return {200,
          "text/plain; version=0.0.4; charset=utf-8",
          metrics_.text({{"ria_maps", static_cast<double>(maps_.names().size())},
                         {"ria_maps_open", open},
                         {"ria_places", places},
                         {"ria_drives", drives_.count()},
                         {"ria_tasks_waiting", workers_.waiting()},
                         {"ria_tasks_running", workers_.running()}}),
          {}};
}

void Service::work(const std::function<void(int cores)>& body) {
  const auto asked = std::chrono::steady_clock::now();
  workers_.run([&](int cores) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - asked;
    if (waited.count() > options_.request_seconds) throw HttpError(503, reason_for(429));
    body(cores);
  });
}

Image Service::picture_of(const Asked& asked, const LoadOptions& options) const {
  const std::string& body = asked.request().body;
  if (body.empty()) {
    throw HttpError(400, "a picture was expected as the body, or as the part 'picture' of a form");
  }
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(body.data()), body.size());
  if (picture_format(bytes) == PictureFormat::kUnknown) {
    throw HttpError(415, "this is no picture: JPEG, PNG, WebP, TIFF, BMP or PNM was expected");
  }
  try {
    return decode_image_within(
        static_cast<std::uint64_t>(options_.max_pixels) * 1'000'000, bytes, "the picture", options);
  } catch (const PictureTooLarge&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw HttpError(400, error.what());
  }
}

}  // namespace ria
