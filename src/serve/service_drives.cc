// SPDX-License-Identifier: MIT
// Drives: frames come in, loops go out.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ria/loop_run.h"
#include "serve/service.h"
#include "util/stopwatch.h"

namespace ria {

using nlohmann::ordered_json;

namespace {

const char* into_name(DriveInto into) {
  switch (into) {
    case DriveInto::kMap:
      return "map";
    case DriveInto::kSession:
      return "session";
    case DriveInto::kNone:
      break;
  }
  return "none";
}

DriveInto parse_into(const std::string& name) {
  for (const DriveInto one : {DriveInto::kMap, DriveInto::kSession, DriveInto::kNone}) {
    if (name == into_name(one)) return one;
  }
  throw HttpError(400, "into is \"map\", \"session\" or \"none\"");
}

/// One field of the body; the type of the value there decides what JSON must have.
template <typename Value>
void take(const ordered_json& value, const std::string& name, Value& field) {
  const bool good = std::is_same_v<Value, std::string> ? value.is_string()
                    : std::is_same_v<Value, int>       ? value.is_number_integer()
                                                       : value.is_number();
  if (!good) {
    throw HttpError(400,
                    fmt::format("{}: {} was expected",
                                name,
                                std::is_same_v<Value, std::string> ? "text"
                                : std::is_same_v<Value, int>       ? "a whole number"
                                                                   : "a number"));
  }
  if constexpr (std::is_same_v<Value, int>) {
    const auto number = value.get<double>();
    if (std::abs(number) > 1e9) throw HttpError(400, name + " is too large");
  }
  field = value.get<Value>();
}

DriveOptions read_options(const std::string& body) {
  DriveOptions options;
  if (body.empty()) return options;
  constexpr std::size_t kLargest = 4096;  // nor can it be deep then
  const ordered_json json = body.size() > kLargest ? ordered_json(ordered_json::value_t::discarded)
                                                   : ordered_json::parse(body, nullptr, false);
  if (!json.is_object()) throw HttpError(400, "the body is no JSON object of at most 4096 bytes");
  for (const auto& [name, value] : json.items()) {
    std::string into;
    if (name == "into") {
      take(value, name, into);
      options.into = parse_into(into);
    } else if (name == "name") {
      take(value, name, options.name);
    } else if (name == "recent") {
      take(value, name, options.loop.recent);
    } else if (name == "recent_seconds") {
      take(value, name, options.loop.recent_seconds);
    } else if (name == "decision") {
      take(value, name, options.loop.decision);
    } else if (name == "candidates") {
      take(value, name, options.loop.candidates);
    } else if (name == "same_view") {
      take(value, name, options.loop.same_view);
    } else {
      throw HttpError(400,
                      "only into, name, recent, recent_seconds, decision, candidates and same_view "
                      "are known");
    }
  }
  options.loop.validate();
  if (options.loop.candidates > 1000) throw HttpError(400, "candidates is at most 1000");
  return options;
}

ordered_json drive_json(const ServedDrive& drive) {
  const LoopOptions& loop = drive.options.loop;
  return {{"drive", drive.id},
          {"map", drive.map->name()},
          {"into", into_name(drive.options.into)},
          {"name", drive.options.name},
          {"recent", loop.recent},
          {"recent_seconds", loop.recent_seconds},
          {"decision", loop.decision},
          {"candidates", loop.candidates},
          {"same_view", loop.same_view},
          {"frames", drive.frames},
          {"loops", drive.loops}};
}

std::optional<Pose> read_pose(const Asked& asked) {
  Pose pose;
  const std::array<const char*, 3> position{"x", "y", "z"};
  const std::array<const char*, 4> rotation{"qx", "qy", "qz", "qw"};
  int given = 0;
  double squares = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = asked.number(position[i]);
    if (std::isnan(value)) continue;
    pose.position[i] = value;
    given += i < 2 ? 1 : 0;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const double value = asked.number(rotation[i]);
    if (!std::isnan(value)) pose.rotation[i] = value;
    squares += pose.rotation[i] * pose.rotation[i];
  }
  if (given == 1) throw HttpError(400, "x and y go together");
  if (std::abs(std::sqrt(squares) - 1) > 0.01) {
    throw HttpError(400, "qx, qy, qz, qw are no rotation: their length is not 1");
  }
  return given == 2 ? std::optional(pose) : std::nullopt;
}

}  // namespace

std::shared_ptr<ServedDrive> Service::drive_of(const Asked& asked) {
  auto drive = drives_.find(asked.path().at(2), asked.path().at(4));
  if (!drive) throw HttpError(404, "there is no such drive, or it had no frame for too long");
  return drive;
}

HttpResponse Service::start_drive(const Asked& asked) {
  asked.only({});
  const DriveOptions options = read_options(asked.request().body);
  if (options.into == DriveInto::kMap && (asked.right() != Right::kWrite || !maps_.writable())) {
    throw HttpError(403, "a drive into the map needs the right to write; \"session\" does not");
  }
  const auto map = map_of(asked);
  if (map->recognizer().reranker() == nullptr) {
    throw HttpError(409,
                    "loops are verified by patches: the map was built without --rerank patches");
  }
  const auto drive = drives_.start(map, options);
  HttpResponse response = json_response(drive_json(*drive), 201);
  response.headers.emplace_back(
      "Location", fmt::format("/v1/maps/{}/drives/{}", encoded_segment(map->name()), drive->id));
  return response;
}

HttpResponse Service::get_drive(const Asked& asked) {
  asked.only({});
  const auto drive = drive_of(asked);
  const std::lock_guard lock(drive->mutex);
  return json_response(drive_json(*drive));
}

HttpResponse Service::end_drive(const Asked& asked) {
  asked.only({});
  if (!drives_.end(asked.path().at(2), asked.path().at(4))) drive_of(asked);
  return {204, "", "", {}};
}

HttpResponse Service::add_frame(const Asked& asked) {
  asked.only({"name", "stamp", "x", "y", "z", "qx", "qy", "qz", "qw"});
  const auto drive = drive_of(asked);
  if (drive->options.into == DriveInto::kMap && asked.right() != Right::kWrite) {
    throw HttpError(403, "a drive into the map needs the right to write");
  }
  LoopRunFrame frame{asked.text("name"), {}, read_pose(asked), {}};
  const LoopFrame known{frame.name, asked.number("stamp"), frame.pose};
  work([&](int) {
    const std::unique_lock lock(drive->mutex, std::try_to_lock);
    if (!lock) throw HttpError(409, "the frame before this one is not answered yet");
    Stopwatch watch;
    const Recognizer& recognizer = drive->map->recognizer();
    const Image picture = picture_of(asked, recognizer.preprocessing().load);
    const DescribedPicture described = recognizer.describe_whole(picture);
    const double spent = watch.milliseconds();
    LoopFrame named = known;
    if (named.name.empty()) named.name = frame.name = fmt::format("{:06}", drive->frames);
    frame.result = drive->closer.add(described, named);
    frame.result.ms.describe = spent;
    ++drive->frames;
    drive->loops += frame.result.loop ? 1 : 0;
    if (drive->options.into == DriveInto::kMap && frame.result.kept_as >= 0) {
      drive->map->pictures().keep(frame.result.kept_as, named.name, picture);
      drive->map->changed();
    }
  });
  return {200, "application/json", LoopRun::frame_json(frame) + "\n", {}};
}

}  // namespace ria
