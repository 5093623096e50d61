// SPDX-License-Identifier: MIT
// Where a run stands: enough to go on as if it had never stopped.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ria/train.h"
#include "train/engine.h"

namespace ria {

/// The recall of a model, percent.
struct ModelRecall {
  double at_1 = 0;
  double at_5 = 0;

  bool better_than(const ModelRecall& other) const {
    return at_1 != other.at_1 ? at_1 > other.at_1 : at_5 > other.at_5;
  }
};

struct TrainPosition {
  int epoch = 0;
  int batch = 0;                    ///< of the epoch, the next to come
  long long validated_step = -1;    ///< when it was last validated
  std::optional<ModelRecall> best;  ///< of model.safetensors
  std::vector<TrainLogRow> log;
  std::vector<HardPair> hardest;  ///< of the epoch so far
};

struct Checkpoint {
  nlohmann::ordered_json config;  ///< see run_config(): what is trained, on what
  TrainPosition position;
  EngineState engine;
};

/// One safetensors file, whole or not at all, on the disk when it returns.
void save_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);

/// Throws std::runtime_error naming the file and what is wrong with it.
Checkpoint load_checkpoint(const std::filesystem::path& file);

nlohmann::ordered_json to_json(const std::vector<HardPair>& pairs);

}  // namespace ria
