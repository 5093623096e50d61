// SPDX-License-Identifier: MIT
// The flags of training, for train and for the study of RIA-FT's components.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/dataset_flags.h"
#include "ria/train.h"

namespace CLI {
class App;
}

namespace ria::cli {

/// The flags that name training pictures; several are joined.
class TrainingSource {
 public:
  /// `named`: with --dataset and --data_folder, unless those have another meaning in the command.
  void add(CLI::App& command, bool named);

  bool given() const { return !folders_.empty() || !datasets_.empty(); }
  /// Throws std::invalid_argument naming the flag that is missing.
  TrainingSet load() const;

 private:
  TrainingSet load_named(std::size_t i) const;

  std::vector<std::string> folders_, datasets_, data_folders_, cities_;
  PlaceOptions places_;
  DatasetFlags reading_;
};

/// Every field of TrainOptions.
class TrainFlags {
 public:
  void add(CLI::App& command);
  /// What the flags say; throws std::invalid_argument naming the flag.
  TrainOptions options() const;

 private:
  void add_network(CLI::App& command);
  void add_head(CLI::App& command);
  void add_batches(CLI::App& command);
  void add_augmentation(CLI::App& command);
  void add_steps(CLI::App& command);
  void add_running(CLI::App& command);

  TrainOptions options_;
  bool no_mlp_ = false;
  std::optional<int> layer_;
  std::string facet_, position_rule_;
};

/// A run in a folder: Ctrl-C, progress, and the page index.html whenever it is saved.
TrainRun training_run(const std::filesystem::path& folder, const std::string& backbone);

/// RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; throws std::invalid_argument naming the one that
/// is no number or out of range.
TrainWorkers workers_of_environment();

}  // namespace ria::cli
