// SPDX-License-Identifier: MIT
// runs/x: what a run leaves.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ria/train.h"
#include "util/temporary.h"

namespace ria {

class RunFolder {
 public:
  /// Made if it is missing and `writes`; gone again, where empty, unless keep() is called. Throws
  /// std::runtime_error if it cannot be written.
  RunFolder(std::filesystem::path folder, bool writes);

  void keep();
  /// A run that begins anew is not gone on with as the one before it, even if it ends at once.
  void forget_checkpoint() const;
  std::filesystem::path model() const { return folder_ / "model.safetensors"; }
  std::filesystem::path last() const { return folder_ / "last.safetensors"; }
  std::filesystem::path checkpoint() const { return folder_ / "checkpoint.safetensors"; }
  void write_config(const nlohmann::ordered_json& config) const;
  void write_log(const std::vector<TrainLogRow>& log) const;

 private:
  void remove_leftovers() const;

  std::filesystem::path folder_;
  std::optional<MadeFolders> made_;
};

/// A line of names, then one a step; recalls are empty where they were not measured.
std::string log_csv(const std::vector<TrainLogRow>& log);

}  // namespace ria
