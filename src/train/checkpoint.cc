// SPDX-License-Identifier: MIT
#include "train/checkpoint.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "tensor/safetensors.h"
#include "util/json.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr char kFormat[] = "ria-train 1";
constexpr char kPrefix[] = "engine.";  // of the engine's tensors
constexpr char kLog[] = "log";
constexpr std::size_t kColumns = 11;  // of the log

std::array<double, kColumns> columns_of(const TrainLogRow& row) {
  const auto or_nan = [](const std::optional<double>& value) { return value.value_or(NAN); };
  return {static_cast<double>(row.step),
          static_cast<double>(row.epoch),
          row.loss,
          row.lr,
          row.head_lr,
          row.gradient_norm,
          row.pictures_per_second,
          static_cast<double>(row.positive_pairs),
          static_cast<double>(row.negative_pairs),
          or_nan(row.recall_at_1),
          or_nan(row.recall_at_5)};
}

TrainLogRow row_of(const double* v) {
  const auto or_none = [](double value) {
    return std::isnan(value) ? std::nullopt : std::optional<double>(value);
  };
  TrainLogRow row;
  row.step = static_cast<long long>(v[0]);
  row.epoch = static_cast<int>(v[1]);
  row.loss = v[2];
  row.lr = v[3];
  row.head_lr = v[4];
  row.gradient_norm = v[5];
  row.pictures_per_second = v[6];
  row.positive_pairs = static_cast<long long>(v[7]);
  row.negative_pairs = static_cast<long long>(v[8]);
  row.recall_at_1 = or_none(v[9]);
  row.recall_at_5 = or_none(v[10]);
  return row;
}

Tensor log_tensor(const std::vector<TrainLogRow>& log) {
  std::vector<std::uint8_t> bytes(log.size() * kColumns * sizeof(double));
  for (std::size_t i = 0; i < log.size(); ++i) {
    const auto columns = columns_of(log[i]);
    std::memcpy(bytes.data() + i * sizeof columns, columns.data(), sizeof columns);
  }
  return make_tensor(
      DType::F64, {static_cast<std::int64_t>(log.size()), kColumns}, std::move(bytes));
}

std::vector<TrainLogRow> read_log(const Tensor& tensor) {
  if (tensor.shape.size() != 2 || tensor.shape[1] != std::int64_t{kColumns}) {
    throw std::runtime_error("its log has another form");
  }
  const std::vector<double> values = tensor.doubles();
  std::vector<TrainLogRow> log;
  for (std::size_t i = 0; i < values.size(); i += kColumns) log.push_back(row_of(&values[i]));
  return log;
}

/// The values stay where they are.
Tensor borrowed(const NamedTensor& tensor) {
  Tensor out;
  out.shape = tensor.shape;
  out.bytes = {reinterpret_cast<const std::uint8_t*>(tensor.values.data()),
               tensor.values.size() * sizeof(float)};
  return out;
}

ordered_json position_json(const TrainPosition& position) {
  ordered_json out = {{"epoch", position.epoch},
                      {"batch", position.batch},
                      {"validated_step", position.validated_step},
                      {"hardest", to_json(position.hardest)}};
  if (position.best) out["best"] = {position.best->at_1, position.best->at_5};
  return out;
}

TrainPosition read_position(const ordered_json& json) {
  TrainPosition position;
  position.epoch = json.at("epoch").get<int>();
  position.batch = json.at("batch").get<int>();
  position.validated_step = json.at("validated_step").get<long long>();
  if (json.contains("best")) position.best = ModelRecall{json["best"].at(0), json["best"].at(1)};
  for (const ordered_json& pair : json.at("hardest")) {
    position.hardest.push_back({pair.at("first").get<std::string>(),
                                pair.at("second").get<std::string>(),
                                pair.at("same_place").get<bool>(),
                                pair.at("cosine").get<double>()});
  }
  return position;
}

Checkpoint read(const TensorFile& file) {
  const auto text = [&](const char* key) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end()) throw std::runtime_error("it is no checkpoint of ria");
    return found->second;
  };
  if (text("format") != kFormat) {
    throw std::runtime_error(
        fmt::format("it is of form '{}', '{}' was expected", text("format"), kFormat));
  }
  Checkpoint out;
  out.config = ordered_json::parse(text("config"));
  out.position = read_position(ordered_json::parse(text("position")));
  out.position.log = read_log(file.at(kLog));
  out.engine.steps = std::stoll(text("steps"));
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.starts_with(kPrefix)) continue;
    out.engine.tensors.push_back(
        {name.substr(std::strlen(kPrefix)), tensor.shape, tensor.floats()});
  }
  return out;
}

}  // namespace

ordered_json to_json(const std::vector<HardPair>& pairs) {
  ordered_json list = ordered_json::array();
  for (const HardPair& pair : pairs) {
    list.push_back({{"first", pair.first.string()},
                    {"second", pair.second.string()},
                    {"same_place", pair.same_place},
                    {"cosine", pair.cosine}});
  }
  return list;
}

void save_checkpoint(const fs::path& file, const Checkpoint& checkpoint) {
  TensorMap tensors{{kLog, log_tensor(checkpoint.position.log)}};
  for (const NamedTensor& tensor : checkpoint.engine.tensors) {
    tensors.emplace(kPrefix + tensor.name, borrowed(tensor));
  }
  write_safetensors(file,
                    tensors,
                    {{"format", kFormat},
                     {"config", json_text(checkpoint.config)},
                     {"position", json_text(position_json(checkpoint.position))},
                     {"steps", std::to_string(checkpoint.engine.steps)}});
}

Checkpoint load_checkpoint(const fs::path& file) {
  const TensorFile tensors = TensorFile::open(file);
  try {
    return read(tensors);
  } catch (const std::exception& problem) {
    throw std::runtime_error(
        fmt::format("cannot go on from {}: {}", file.string(), problem.what()));
  }
}

}  // namespace ria
