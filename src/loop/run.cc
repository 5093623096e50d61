// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>

#include "ria/loop_run.h"
#include "util/json.h"

namespace ria {

namespace {

using nlohmann::ordered_json;

std::unordered_map<std::string, int> positions_of(const std::vector<std::string>& names) {
  std::unordered_map<std::string, int> positions;
  for (std::size_t i = 0; i < names.size(); ++i) positions.emplace(names[i], static_cast<int>(i));
  return positions;
}

ordered_json frame_object(const LoopRunFrame& frame) {
  const LoopResult& r = frame.result;
  ordered_json json{{"frame", frame.name},
                    {"loop", r.loop},
                    {"reason", to_string(r.reason)},
                    {"probability", r.probability}};
  if (r.place >= 0) {
    json["place"] = r.place_name;
    json["place_number"] = r.place;
    json["down"] = r.down;
    json["right"] = r.right;
    json["scale"] = r.scale;
    json["cosine"] = r.evidence.cosine;
    json["agreement"] = r.evidence.agreement;
    json["rival"] = r.evidence.rival;
    json["expected"] = r.evidence.expected;
  }
  json["kept_as"] = r.kept_as;
  json["ms"] = {{"describe", r.ms.describe},
                {"search", r.ms.search},
                {"verify", r.ms.verify},
                {"keep", r.ms.keep}};
  return json;
}

ordered_json summary_object(const LoopRun& run) {
  ordered_json json{{"sequence", run.name}, {"method", run.method}, {"frames", run.frames.size()}};
  const auto is_loop = [](const LoopRunFrame& frame) { return frame.result.loop; };
  json["loops"] = std::count_if(run.frames.begin(), run.frames.end(), is_loop);
  json["decision"] = run.options.decision;
  json["recent"] = run.options.recent;
  if (run.measures) {
    const LoopMeasures& m = *run.measures;
    json["max_recall_at_full_precision"] = m.max_recall_at_full_precision;
    json["recall_at_99_precision"] = m.recall_at_99_precision;
    json["average_precision"] = m.average_precision;
    json["precision"] = m.precision;
    json["recall"] = m.recall;
    json["to_find"] = m.to_find;
    json["truth_tolerance"] = run.truth_tolerance;
    ordered_json bins = ordered_json::array();
    for (std::size_t i = 0; i < m.reliability.size(); ++i) {
      const ReliabilityBin& bin = m.reliability[i];
      bins.push_back({{"from", static_cast<double>(i) / 10},
                      {"count", bin.count},
                      {"right", bin.right},
                      {"mean_probability", bin.mean_probability}});
    }
    json["reliability"] = bins;
  }
  const LoopTime ms = run.ms_per_frame();
  json["ms_per_frame"] = ms.describe + ms.search + ms.verify + ms.keep;
  json["ms_per_frame_by_stage"] = {
      {"describe", ms.describe}, {"search", ms.search}, {"verify", ms.verify}, {"keep", ms.keep}};
  return json;
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

LoopTime LoopRun::ms_per_frame() const {
  LoopTime mean;
  const double count = std::max<double>(1, static_cast<double>(frames.size()));
  for (const LoopRunFrame& frame : frames) {
    mean.describe += frame.result.ms.describe / count;
    mean.search += frame.result.ms.search / count;
    mean.verify += frame.result.ms.verify / count;
    mean.keep += frame.result.ms.keep / count;
  }
  return mean;
}

std::vector<int> LoopRun::places() const {
  std::unordered_map<int, int> kept;
  std::vector<int> places;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto found = kept.find(frames[i].result.place);
    places.push_back(found == kept.end() ? -1 : found->second);
    if (frames[i].result.kept_as >= 0) kept[frames[i].result.kept_as] = static_cast<int>(i);
  }
  return places;
}

void LoopRun::measure() {
  if (!truth) return;
  const auto positions = positions_of(truth->images);
  std::vector<SaidLoop> said;
  for (const LoopRunFrame& frame : frames) {
    const auto found = positions.find(frame.name);
    if (found == positions.end()) {
      throw std::runtime_error(
          fmt::format("the truth has no picture '{}', as '{}'", frame.name, truth->images[0]));
    }
    const auto place = positions.find(frame.result.place_name);
    said.push_back({found->second,
                    frame.result.place < 0 || place == positions.end() ? -1 : place->second,
                    frame.result.probability});
  }
  measures = measure_loops(*truth, said, {truth_tolerance, options.recent, options.decision});
}

std::optional<bool> LoopRun::right(const LoopRunFrame& frame) const {
  if (!truth) return std::nullopt;
  const auto position = [this](const std::string& name) {
    return static_cast<int>(std::find(truth->images.begin(), truth->images.end(), name) -
                            truth->images.begin());
  };
  const int at = position(frame.name), place = position(frame.result.place_name);
  const auto count = static_cast<int>(truth->images.size());
  return frame.result.place >= 0 && at < count && place < count &&
         is_true_loop(*truth, at, place, truth_tolerance);
}

std::string LoopRun::frame_json(const LoopRunFrame& frame) {
  return json_text(frame_object(frame));
}
std::string LoopRun::summary_json() const { return json_text(summary_object(*this)); }

std::string LoopRun::to_json() const {
  ordered_json json = summary_object(*this);
  json["results"] = ordered_json::array();
  for (const LoopRunFrame& frame : frames) json["results"].push_back(frame_object(frame));
  return json_text(json, 1) + "\n";
}

std::string LoopRun::to_csv() const {
  std::string text = "frame,loop,reason,place,probability,down,right,scale,agreement,cosine\n";
  for (const LoopRunFrame& frame : frames) {
    const LoopResult& r = frame.result;
    text += fmt::format("{},{},{},{},{:.6f},{:.2f},{:.2f},{:.3f},{:.4f},{:.4f}\n",
                        csv_text(frame.name),
                        r.loop ? 1 : 0,
                        to_string(r.reason),
                        csv_text(r.place_name),
                        r.probability,
                        r.down,
                        r.right,
                        r.scale,
                        r.evidence.agreement,
                        r.evidence.cosine);
  }
  return text;
}

namespace {

constexpr double kTurn = 0.5;  // radians a loop may be turned by

using Quaternion = std::array<double, 4>;  // x, y, z, w

Quaternion product(const Quaternion& a, const Quaternion& b) {
  return {a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
          a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
          a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
          a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
}

/// The second pose as the first sees it.
Pose between(const Pose& from, const Pose& to) {
  const Quaternion back{-from.rotation[0], -from.rotation[1], -from.rotation[2], from.rotation[3]};
  const Quaternion way{to.position[0] - from.position[0],
                       to.position[1] - from.position[1],
                       to.position[2] - from.position[2],
                       0};
  const Quaternion turned = product(product(back, way), from.rotation);
  return {{turned[0], turned[1], turned[2]}, product(back, to.rotation)};
}

std::string pose_text(const Pose& pose) {
  return fmt::format("{:.9g} {:.9g}", fmt::join(pose.position, " "), fmt::join(pose.rotation, " "));
}

/// Diagonal, as the upper triangle of six rows.
std::string information_text(double metres, double radians) {
  std::string text;
  for (int row = 0; row < 6; ++row) {
    for (int column = row; column < 6; ++column) {
      const double sigma = row < 3 ? metres : radians;
      text += fmt::format(" {:.6g}", row == column ? 1 / (sigma * sigma) : 0.0);
    }
  }
  return text;
}

}  // namespace

std::string LoopRun::to_g2o() const {
  std::string vertices, edges;
  const LoopRunFrame* before = nullptr;
  for (const LoopRunFrame& frame : frames) {
    const int number = frame.result.kept_as;
    if (number < 0) continue;
    const Pose pose = frame.pose.value_or(Pose{});
    vertices += fmt::format("VERTEX_SE3:QUAT {} {}\n", number, pose_text(pose));
    if (before != nullptr && frame.pose && before->pose) {
      edges += fmt::format("EDGE_SE3:QUAT {} {} {}{}\n",
                           before->result.kept_as,
                           number,
                           pose_text(between(*before->pose, pose)),
                           information_text(0.1, 0.02));
    }
    if (frame.result.loop) {
      edges += fmt::format("EDGE_SE3:QUAT {} {} {}{}\n",
                           frame.result.place,
                           number,
                           pose_text(Pose{}),
                           information_text(options.odometry_reach / 3, kTurn));
    }
    before = &frame;
  }
  return vertices + edges;
}

}  // namespace ria
