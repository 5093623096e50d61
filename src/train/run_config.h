// SPDX-License-Identifier: MIT
// What a run is: for config.json, for checkpoints, and for workers that must agree.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ria/train.h"

namespace ria {

struct RunFacts {
  std::string libtorch;        ///< its version
  std::string weights_sha256;  ///< of the file training starts from
  int epochs = 0;
  long long steps = 0;
  int dim = 0;                       ///< of the descriptors
  long long trained_parameters = 0;  ///< values that are trained
};

nlohmann::ordered_json run_config(const TrainingSet& set,
                                  const std::optional<Dataset>& validation,
                                  const TrainOptions& options,
                                  const RunFacts& facts,
                                  int workers);

/// Throws std::invalid_argument naming the first option that a checkpoint was made with otherwise.
void check_same_run(const std::filesystem::path& checkpoint,
                    const nlohmann::ordered_json& made_with,
                    const nlohmann::ordered_json& asked_for);

/// `configs`: those of all ranks, as text. Throws std::invalid_argument: "rank 1 has lr 0.0001,
/// rank 0 6e-05".
void check_same_workers(const std::vector<std::string>& configs);

}  // namespace ria
