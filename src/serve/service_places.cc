// SPDX-License-Identifier: MIT
// Maps and their places.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "serve/position.h"
#include "serve/service.h"

namespace ria {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t kLongestName = 1024;
constexpr double kFarthest = 1e9;  // metres

ordered_json known(double value) {
  return std::isnan(value) ? ordered_json() : ordered_json(value);
}

LatLon latlon_of(const Place& place) {
  if (place.utm_zone == 0 || std::isnan(place.x) || std::isnan(place.y)) return {};
  return from_utm(place.x, place.y, place.utm_zone);
}

/// Both or neither.
bool pair_given(const char* first, double a, const char* second, double b) {
  if (std::isnan(a) != std::isnan(b)) {
    throw HttpError(400, fmt::format("{} and {} go together", first, second));
  }
  return !std::isnan(a);
}

void set_position(const Asked& asked, Place& place) {
  const LatLon at{asked.number("latitude"), asked.number("longitude")};
  const double x = asked.number("x"), y = asked.number("y");
  const int zone = asked.integer("utm_zone", 0, -60, 60);
  const bool on_earth = pair_given("latitude", at.latitude, "longitude", at.longitude);
  const bool in_metres = pair_given("x", x, "y", y);
  if (on_earth && in_metres) throw HttpError(400, "latitude and longitude, or x and y: not both");
  if (on_earth) {
    if (std::abs(at.latitude) > 84 || std::abs(at.longitude) > 180) {
      throw HttpError(400, "latitude is from -84 to 84 and longitude from -180 to 180 degrees");
    }
    place.utm_zone = utm_zone_of(at);
    const auto [east, north] = to_utm(at, place.utm_zone);
    place.x = east;
    place.y = north;
  } else if (in_metres) {
    if (std::abs(x) > kFarthest || std::abs(y) > kFarthest) {
      throw HttpError(400, "x and y are metres, at most a million kilometres");
    }
    place.x = x;
    place.y = y;
    place.utm_zone = zone;
  }
}

Place new_place(const Asked& asked) {
  asked.only({"name", "stamp", "latitude", "longitude", "x", "y", "utm_zone", "heading"});
  const std::string name = asked.text("name");
  const bool plain =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; });
  if (name.size() > kLongestName || !plain) {
    throw HttpError(
        400,
        fmt::format("name is a line of at most {} bytes without control characters", kLongestName));
  }
  Place place = place_named(name);
  set_position(asked, place);
  place.stamp = asked.number("stamp");
  if (const double heading = asked.number("heading"); !std::isnan(heading)) place.heading = heading;
  return place;
}

}  // namespace

ordered_json place_json(const ServedMap& map, int number, const Place& place) {
  const LatLon at = latlon_of(place);
  ordered_json thumbnail;
  if (map.pictures().has(number, place.name)) {
    thumbnail = fmt::format("/v1/maps/{}/places/{}/thumbnail", encoded_segment(map.name()), number);
  }
  return {{"id", number},
          {"name", place.name},
          {"stamp", known(place.stamp)},
          {"x", known(place.x)},
          {"y", known(place.y)},
          {"utm_zone", place.utm_zone},
          {"heading", known(place.heading)},
          {"latitude", known(at.latitude)},
          {"longitude", known(at.longitude)},
          {"thumbnail", thumbnail}};
}

std::shared_ptr<ServedMap> Service::map_of(const Asked& asked) {
  auto map = maps_.open(asked.path().at(2));
  if (!map) throw HttpError(404, "there is no map of this name: GET /v1/maps lists them");
  return map;
}

std::pair<int, Place> Service::place_of(const Asked& asked, ServedMap& map) const {
  if (const auto number = parse_id(asked.path().at(4))) {
    try {
      return {*number, map.map().place(*number)};
    } catch (const std::invalid_argument&) {
    }
  }
  throw HttpError(404, "there is no place of this number");
}

ordered_json Service::map_json(const std::string& name, Right right) {
  const auto map = maps_.opened(name);
  ordered_json json{{"map", name}, {"open", map != nullptr}};
  if (!map) return json;
  const Map& places = map->map();
  json["method"] = places.header().method;
  json["places"] = places.size();
  json["dim"] = places.header().dim;
  json["rerank"] = map->recognizer().reranker() != nullptr;
  json["writable"] = maps_.writable() && right == Right::kWrite;
  json["next_id"] = places.end();
  return json;
}

HttpResponse Service::list_maps(const Asked& asked) {
  asked.only({});
  ordered_json maps = ordered_json::array();
  for (const std::string& name : maps_.names()) maps.push_back(map_json(name, asked.right()));
  return json_response({{"maps", maps}});
}

HttpResponse Service::get_map(const Asked& asked) {
  asked.only({});
  return json_response(map_json(map_of(asked)->name(), asked.right()));
}

HttpResponse Service::list_places(const Asked& asked) {
  asked.only({"offset", "limit"});
  constexpr int kMost = 10000, kAny = std::numeric_limits<int>::max();
  const auto map = map_of(asked);
  const auto offset = static_cast<std::size_t>(asked.integer("offset", 0, 0, kAny));
  const auto limit = static_cast<std::size_t>(asked.integer("limit", 100, 1, kMost));
  const auto all = map->places();
  ordered_json places = ordered_json::array();
  for (std::size_t i = offset; i < all->size() && i - offset < limit; ++i) {
    places.push_back(place_json(*map, (*all)[i].first, (*all)[i].second));
  }
  return json_response(
      {{"map", map->name()}, {"total", all->size()}, {"offset", offset}, {"places", places}});
}

HttpResponse Service::get_place(const Asked& asked) {
  asked.only({});
  const auto map = map_of(asked);
  const auto [number, place] = place_of(asked, *map);
  return json_response(place_json(*map, number, place));
}

HttpResponse Service::add_place(const Asked& asked) {
  const Place place = new_place(asked);
  const auto map = map_of(asked);
  int number = -1;
  work([&](int) {
    const Image picture = picture_of(asked, map->recognizer().preprocessing().load);
    DescribedPicture described = map->recognizer().describe_whole(picture);
    const auto dim = static_cast<int>(described.descriptor.size());
    std::vector<PackedLocalFeatures> locals;
    if (map->recognizer().reranker() != nullptr) locals.push_back(std::move(described.local));
    number = map->map().add(Matrix(1, dim, std::move(described.descriptor)), {place}, locals);
    map->changed();
    try {
      map->pictures().keep(number, place.name, picture);
    } catch (...) {  // a place whose picture could not be kept was not added
      map->map().remove({number});
      map->changed();
      throw;
    }
  });
  HttpResponse response = json_response(place_json(*map, number, place), 201);
  response.headers.emplace_back(
      "Location", fmt::format("/v1/maps/{}/places/{}", encoded_segment(map->name()), number));
  return response;
}

HttpResponse Service::remove_place(const Asked& asked) {
  asked.only({});
  const auto map = map_of(asked);
  const auto [number, place] = place_of(asked, *map);
  map->map().remove({number});
  map->pictures().forget(number, place.name);
  map->changed();
  return {204, "", "", {}};
}

HttpResponse Service::thumbnail(const Asked& asked) {
  asked.only({});
  const auto map = map_of(asked);
  const auto [number, place] = place_of(asked, *map);
  const std::string& name = place.name;
  if (!map->pictures().has(number, name)) {
    throw HttpError(404, "there is no picture of this place: --pictures FOLDER shows originals");
  }
  const int id = number;
  std::optional<std::string> jpeg;
  work([&](int) {
    jpeg =
        map->pictures().find(id, name, static_cast<std::uint64_t>(options_.max_pixels) * 1'000'000);
  });
  if (!jpeg) throw HttpError(404, "the picture of this place is gone");
  return {200, "image/jpeg", std::move(*jpeg), {{"Cache-Control", "private, max-age=300"}}};
}

}  // namespace ria
