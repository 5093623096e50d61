// SPDX-License-Identifier: MIT
// Pictures as the engine takes them: read, augmented, sized, and run through the frozen part.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "places/batches.h"
#include "ria/train.h"
#include "train/engine.h"
#include "train/frozen_features.h"
#include "train/network.h"

namespace ria {

/// What a worker takes of a step, and of which training pictures it is made.
struct TrainingShare {
  TrainBatch batch;
  std::vector<int> pictures;
};

/// Whether the engine runs the whole network: where pictures differ every time, and it is faster.
bool enters_at_pixels(const TrainOptions& options);

/// A picture that cannot be read is remembered, and another one takes its place: a run does not
/// depend on when that is found out.
class TrainInputs {
 public:
  using Meet = std::function<void(int done, int total)>;

  /// Keeps references.
  TrainInputs(const TrainingSet& set,
              const std::optional<Dataset>& validation,
              const TrainOptions& options,
              const TrainWorkers& workers,
              const TrainNetwork& network);

  /// Computes what the cache will be asked for, this worker's share of it; the workers `meet` every
  /// few pictures, so that none waits long, and are told how many are done of how many.
  void prepare(const Meet& meet);

  /// This worker's share of batches[number] of an epoch, with labels; follows from these, the seed
  /// and which pictures can be read. The next of its place stands for one that cannot; a place that
  /// has none is left out. `memory` is a share that is no longer needed: batches are large, and
  /// their pages are slow to come by.
  TrainingShare training(const std::vector<PictureBatch>& batches,
                         int epoch,
                         int number,
                         TrainingShare memory = {});
  /// Training pictures as they are, at the size of training, but for those that cannot be read.
  TrainBatch plain(const std::vector<int>& pictures);
  /// A picture of the validation set as the finished model reads it: database first, then queries.
  /// One that cannot be read is an empty batch.
  TrainBatch evaluation(int picture);

  /// Pictures that could not be read so far: positions in the training pictures, then in the
  /// validation set as above.
  std::vector<Failure> failures() const;
  /// The same for the other workers, and what they say.
  std::string failures_text() const;
  void add_failures(const std::string& text);
  /// Throws std::runtime_error where no training picture is left.
  void check_any_readable() const;

 private:
  void prepare(FrozenFeatures& features, int count, int variants, int number, const Meet& meet);
  TrainingShare make(const PictureBatch& batch, int epoch, TrainingShare memory);
  std::vector<PictureVariant> variants_of_epoch(const std::vector<int>& pictures, int epoch) const;
  PictureBatch with_readable(const PictureBatch& batch) const;
  /// `number` is added to their positions. Returns whether there were any.
  bool remember(const std::vector<Failure>& failures, int number);
  bool is_unreadable(int picture) const;
  int training_count() const { return static_cast<int>(set_.pictures.size()); }

  /// The batch that comes next, made while the engine is at work.
  struct Ahead {
    int epoch = -1, number = -1;
    std::future<TrainingShare> share;
  };

  const TrainingSet& set_;
  const TrainOptions& options_;
  const TrainWorkers& workers_;
  int variants_ = 0;  ///< of cached:N; -1: fresh ones in every epoch
  bool ahead_of_engine_ = false;
  std::vector<std::filesystem::path> checked_on_;
  FrozenFeatures training_;
  FrozenFeatures evaluation_;
  mutable std::mutex mutex_;  ///< of what follows: the next batch is made on a thread of its own
  std::map<int, std::string> unreadable_;  ///< reasons, by the positions of failures()
  Ahead ahead_;                            // last: its thread uses all above
};

}  // namespace ria
