// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "places/batches.h"
#include "ria/train.h"
#include "train/checkpoint.h"
#include "train/engine.h"
#include "train/inputs.h"
#include "train/network.h"
#include "train/run_config.h"
#include "train/run_folder.h"
#include "train/save_on_stop.h"

namespace ria {

/// One run of one worker. Whatever happens twice after a checkpoint gives the same bits.
class Trainer {
 public:
  /// Keeps references.
  Trainer(const TrainingSet& set,
          const std::optional<Dataset>& validation,
          const TrainOptions& options,
          const TrainRun& run);
  TrainResult train();

 private:
  using Clock = std::chrono::steady_clock;

  bool writes() const { return run_.workers.rank == 0; }
  bool several() const { return run_.workers.count > 1; }
  void plan();
  RunFacts facts(const std::string& libtorch) const;
  /// Goes on, or makes the start of a run.
  void begin();
  bool resume();
  void run_epoch();
  void step(const std::vector<PictureBatch>& batches);
  void validate();
  void write_model(const std::filesystem::path& file) const;
  Checkpoint checkpoint() const;
  /// The checkpoint and the log; save_all(): everything, at an epoch's end.
  void save();
  void save_all();
  void stop_if_asked();
  /// All workers know what any could not read.
  void share_failures();
  void report_progress(const std::string& stage, int done = 0, int total = 0) const;
  TrainResult result() const;

  const TrainingSet& set_;
  const std::optional<Dataset>& validation_;
  const TrainOptions& options_;
  const TrainRun& run_;
  RunFolder folder_;
  CheckpointWriter writer_;
  TrainNetwork network_;
  std::optional<TrainInputs> inputs_;
  std::unique_ptr<TrainEngine> engine_;
  nlohmann::ordered_json config_;
  int dim_ = 0;  // of the descriptors
  int epochs_ = 0;
  long long steps_ = 0;  // of the whole run
  long long step_ = 0;   // done
  TrainPosition position_;
  TrainingShare share_;  // of the step
  Clock::time_point started_, last_saved_;
  double step_seconds_ = 0;  // of late
};

}  // namespace ria
