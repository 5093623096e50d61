// SPDX-License-Identifier: MIT
// Which places does a picture show?
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "archive/bytes.h"
#include "pipeline/search.h"
#include "ria/loop.h"
#include "serve/position.h"
#include "serve/service.h"
#include "tensor/npy.h"
#include "util/stopwatch.h"

namespace ria {

using nlohmann::ordered_json;

namespace {

constexpr int kMostAnswers = 1000, kMostDrawn = 20;

struct Question {
  int k = 5;
  bool matches = false;
  /// Metres to `near` of the places within it; nothing: all places may be answers.
  std::optional<std::unordered_map<int, double>> near;
};

struct Answer {
  std::vector<Match> places;
  Match guess;  ///< with a probability as its score
  double search_ms = 0;
};

/// A UTM position is looked for in the zone of each place.
std::unordered_map<int, double> places_near(const PlaceList& places,
                                            const std::vector<double>& centre,
                                            bool on_earth) {
  std::unordered_map<int, double> near;
  std::unordered_map<int, std::array<double, 2>> by_zone;
  for (const auto& [number, place] : places) {
    if (std::isnan(place.x) || std::isnan(place.y) || (on_earth && place.utm_zone == 0)) continue;
    std::array<double, 2> at{centre[0], centre[1]};
    if (on_earth) {
      const auto [known, added] = by_zone.try_emplace(place.utm_zone);
      if (added) known->second = to_utm({centre[0], centre[1]}, place.utm_zone);
      at = known->second;
    }
    const double distance = std::hypot(place.x - at[0], place.y - at[1]);
    if (distance <= centre[2]) near[number] = distance;
  }
  return near;
}

Question read_question(const Asked& asked, ServedMap& map) {
  asked.only({"k", "near", "near_xy", "matches"});
  Question question;
  question.k = asked.integer("k", 5, 1, kMostAnswers);
  question.matches = asked.flag("matches");
  if (question.matches && question.k > kMostDrawn) {
    throw HttpError(400, fmt::format("with matches k is at most {}", kMostDrawn));
  }
  const auto on_earth = asked.numbers("near", 3), in_metres = asked.numbers("near_xy", 3);
  if (on_earth && in_metres) throw HttpError(400, "near or near_xy: not both");
  const auto& centre = on_earth ? on_earth : in_metres;
  if (!centre) return question;
  if (on_earth && (std::abs(centre->at(0)) > 84 || std::abs(centre->at(1)) > 180)) {
    throw HttpError(400, "near is LATITUDE,LONGITUDE,METRES, with a latitude from -84 to 84");
  }
  question.near = places_near(*map.places(), *centre, on_earth.has_value());
  return question;
}

bool is_descriptor(const Asked& asked) { return asked.request().body.starts_with("\x93NUMPY"); }

DescribedPicture read_descriptor(const std::string& body, int dim) {
  constexpr double kTolerance = 0.01;
  const auto bytes = MappedFile::from_memory({body.begin(), body.end()});
  std::vector<float> values;
  try {
    values = read_npy("the descriptor", bytes->bytes(), bytes).floats();
  } catch (const std::runtime_error& error) {
    throw HttpError(400, error.what());
  }
  if (std::ssize(values) != dim) {
    throw HttpError(400,
                    fmt::format("the descriptor has {} values, the map {}", values.size(), dim));
  }
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  if (!(std::abs(std::sqrt(squares) - 1) <= kTolerance)) {
    throw HttpError(
        400, fmt::format("the descriptor's length is {:.4g}, 1 was expected", std::sqrt(squares)));
  }
  return {std::move(values), {}};
}

Answer look_up(ServedMap& map,
               const Question& question,
               const DescribedPicture& picture,
               int cores) {
  Answer answer;
  Stopwatch watch;
  const Map& places = map.map();
  SearchOptions among;
  if (question.near) {
    among.allowed = [&](int place) { return question.near->contains(place); };
  }
  const Recognizer& recognizer = map.recognizer();
  if (recognizer.reranker() == nullptr || picture.local.bytes.empty()) {
    answer.places = places.search(picture.descriptor, question.k, among);
  } else {
    Descriptions described;
    described.descriptors =
        Matrix(1, static_cast<int>(picture.descriptor.size()), picture.descriptor);
    described.locals = {picture.local};
    RunOptions run;
    run.num_threads = cores;
    PairScores agreements;
    answer.places =
        search_among(recognizer, places, described, question.k, among, run, &agreements).front();
    std::vector<Match> cosines = places.scores(picture.descriptor);
    if (question.near) {
      std::erase_if(cosines, [&](const Match& one) { return !among.allowed(one.place); });
    }
    answer.guess = guess_place(std::move(cosines), agreements.front());
  }
  answer.search_ms = watch.milliseconds();
  return answer;
}

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

/// Where cells that agree lie in the two pictures.
ordered_json matches_json(const Reranker& reranker,
                          const LocalFeatures& query,
                          const LocalFeatures& place) {
  const auto along = [](int cell, const LocalFeatures& grid) {
    return rounded((cell % grid.grid_width + 0.5) / grid.grid_width);
  };
  const auto down = [](int cell, const LocalFeatures& grid) {
    return rounded((cell / grid.grid_width + 0.5) / grid.grid_height);
  };
  ordered_json pairs = ordered_json::array();
  for (const CellPair& pair : reranker.agreeing_pairs(query, place)) {
    pairs.push_back({along(pair.query, query),
                     down(pair.query, query),
                     along(pair.place, place),
                     down(pair.place, place),
                     rounded(pair.weight)});
  }
  return {{"query_grid", {query.grid_height, query.grid_width}},
          {"place_grid", {place.grid_height, place.grid_width}},
          {"pairs", pairs}};
}

ordered_json answers_json(ServedMap& map,
                          const Question& question,
                          const DescribedPicture& picture,
                          const Answer& answer) {
  const bool drawn = question.matches && !picture.local.bytes.empty();
  const LocalFeatures local = drawn ? unpack(picture.local) : LocalFeatures{};
  ordered_json places = ordered_json::array();
  for (const Match& match : answer.places) {
    try {
      ordered_json one = place_json(map, match.place, map.map().place(match.place));
      one["score"] = match.score;
      const bool guessed = match.place == answer.guess.place && answer.guess.place >= 0;
      one["probability"] = guessed ? ordered_json(answer.guess.score) : ordered_json();
      one["distance"] =
          question.near ? ordered_json(question.near->at(match.place)) : ordered_json();
      if (drawn) {
        one["matches"] =
            matches_json(*map.recognizer().reranker(), local, unpack(map.map().local(match.place)));
      }
      places.push_back(std::move(one));
    } catch (const std::invalid_argument&) {  // removed since it was found
    }
  }
  return places;
}

}  // namespace

HttpResponse Service::query(const Asked& asked) {
  const auto map = map_of(asked);
  const Question question = read_question(asked, *map);
  ordered_json json{{"map", map->name()}};
  Stopwatch watch;
  work([&](int cores) {
    const double wait = watch.milliseconds();
    const Recognizer& recognizer = map->recognizer();
    const DescribedPicture picture =
        is_descriptor(asked)
            ? read_descriptor(asked.request().body, recognizer.dim())
            : recognizer.describe_whole(picture_of(asked, recognizer.preprocessing().load));
    const double describe = watch.milliseconds();
    const Answer answer = look_up(*map, question, picture, cores);
    json["places"] = answers_json(*map, question, picture, answer);
    if (answer.guess.place >= 0) {
      json["guess"] = {{"id", answer.guess.place}, {"probability", answer.guess.score}};
    } else {
      json["guess"] = nullptr;
    }
    json["ms"] = {{"wait", wait}, {"describe", describe}, {"search", answer.search_ms}};
  });
  return json_response(json);
}

HttpResponse Service::describe(const Asked& asked) {
  asked.only({});
  const auto map = map_of(asked);
  HttpResponse response{200, "application/octet-stream", "", {}};
  work([&](int) {
    const Recognizer& recognizer = map->recognizer();
    const Descriptor descriptor =
        recognizer.describe(picture_of(asked, recognizer.preprocessing().load));
    response.body = npy_prefix(1, std::ssize(descriptor));
    response.body.append(reinterpret_cast<const char*>(descriptor.data()),
                         descriptor.size() * sizeof(float));
  });
  return response;
}

}  // namespace ria
