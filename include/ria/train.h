// SPDX-License-Identifier: MIT
// RIA-FT: the covariance heads, their projections and a network's last blocks, trained on places.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/backbone.h"
#include "ria/dataset.h"
#include "ria/recognizer.h"

namespace ria {

/// Pictures that show the same places. A picture belongs to one place; places that have fewer
/// pictures than a batch takes of one are filled up by repeating pictures.
struct TrainingSet {
  /// Where the pictures of one place are in the set.
  struct Place {
    std::vector<int> pictures;  ///< positions in `pictures`, at least two
    int group = 0;              ///< city or source: a batch holds places of one group only
    /// Sorted positions in `places` of others of its group that may show the same: never in one
    /// batch, where they would be taught to differ. It is in their lists too.
    std::vector<int> conflicts = {};
  };
  std::string name;
  std::vector<std::filesystem::path> pictures;
  std::vector<Place> places;
  std::vector<std::string> groups;   ///< their names
  std::vector<std::string> remarks;  ///< what was odd and how it was settled, a line each
};

/// What pictures of one place are.
struct RIA_API PlaceOptions {
  double place_radius = 15;   ///< metres: pictures of one place lie within so many of its middle
  double place_heading = 60;  ///< degrees headings of one place may differ, where names have one
  /// Metres: places with pictures nearer to each other than this conflict. The field calls an
  /// answer right within 25.
  double negative_distance = 25;
  int min_pictures = 0;  ///< places with fewer are left out; 0: 4 for GSV-Cities, 2 elsewhere
  void validate() const;
};

/// A folder of `@east@north@...` names, grouped by position and, where the names have it, heading:
/// the picture with most others around it begins a place. Beside a folder F, a file
/// F_images_paths.txt may list its pictures. All readers throw std::runtime_error, in a line, for
/// files that give no place.
RIA_API TrainingSet places_of_folder(const std::filesystem::path& folder,
                                     const PlaceOptions& options = {});
/// GSV-Cities as published: Dataframes/CITY.csv and Images/CITY/. No cities: all that are there. A
/// city is a group; its places lie 100 m apart, so there are no conflicts.
RIA_API TrainingSet places_of_gsv_cities(const std::filesystem::path& folder,
                                         const std::vector<std::string>& cities = {},
                                         const PlaceOptions& options = {});
/// Of a benchmark: a query and its positives show one place. Where positives overlap, as they do
/// along a drive, a query begins a place if no earlier place has any of its positives; other
/// queries belong to the place that has most of theirs, and what lies between two places is left
/// out. Places that any query joins conflict. Distances of the options do not count here.
RIA_API TrainingSet places_of_dataset(const Dataset& dataset, const PlaceOptions& options = {});
/// One after the other, groups kept apart.
RIA_API TrainingSet joined(const std::vector<TrainingSet>& sets);

/// The defaults are what a place does by itself: another viewpoint (crops) and other light, night
/// among it. The field's recipe for GSV-Cities is the whole picture, then three operations of
/// RandAugment. Steps come in the order of the fields.
struct RIA_API AugmentOptions {
  int image_size = 224;  ///< pixels of both sides; in training that of TrainOptions
  /// Share of the picture's area that a crop has; 1 to 1: the whole picture.
  std::array<double, 2> crop_scale{0.4, 1};
  /// Shape of a crop, width by height, in units of the picture's own.
  std::array<double, 2> crop_ratio{3.0 / 4, 4.0 / 3};
  double flip = 0;  ///< probability; a mirrored place is another place
  // Colours: factors of 1 - x to 1 + x, hue by -x to x of the circle; in random order.
  double brightness = 0.3;
  double contrast = 0.3;
  double saturation = 0.3;
  double hue = 0;
  double night = 0.3;  ///< probability of a picture made dark
  std::array<double, 2> night_gamma{1.5, 3};
  std::array<double, 2> night_gain{0.2, 0.7};
  int rand_ops = 0;        ///< operations of RandAugment one after the other; 0: none
  int rand_magnitude = 9;  ///< 0 to 30

  void validate() const;  ///< throws std::invalid_argument naming the field
  /// Everything that decides what becomes of a picture, as text.
  std::string key() const;
};

/// Fields carry the flags' names. Defaults are SALAD's recipe where it has one.
struct RIA_API TrainOptions {
  // What is trained.
  std::string backbone = "resnet50";
  BackboneOptions network;  ///< weights, cut, layer, facet, final_norm
  int unfreeze = 4;         ///< last blocks of the network that are trained (VGG: convolutions)
  int heads = 4;
  int d = 64;           ///< of each head
  int mlp = 520;        ///< values an MLP leaves of each head; 0: none
  int mlp_hidden = -1;  ///< inner width of the MLP; -1: twice mlp; 0: one linear layer
  bool learn_projection = true;
  std::uint32_t seed = 42;  ///< of projections (head h takes seed + h), order and augmentation
  double tau = 1e-5, eps = 1e-4;
  int iterations = 3;
  bool normalize_patches = true;
  // Batches.
  int places_per_batch = 60;   ///< P
  int pictures_per_place = 4;  ///< K
  int image_size = 224;        ///< pixels of both sides of a training picture
  int eval_image_size = 0;     ///< recorded in the model: 0 is the backbone's own way
  /// standard: otherwise in every epoch | cached:N: the picture and N variants, made once | none
  std::string augment = "cached:2";
  AugmentOptions augmentation;  ///< of standard and cached
  /// Patches that heads pool of a training picture, drawn anew in every step; 0: all. Goes with
  /// unfreeze 0, where patches are kept one by one. The model itself pools all.
  int patches_per_step = 0;
  // Steps.
  int epochs = 0;  ///< 0: as many as give at least min_steps, and 4 at least
  int min_steps = 60;
  double lr = 6e-5;        ///< of the network's blocks
  double head_lr = 6e-4;   ///< of projections and MLPs
  double lr_end = 0.2;     ///< share of the rate at the end; falls linearly
  int schedule_steps = 0;  ///< steps until it is reached; 0: all of them (SALAD: 4000)
  int warmup_steps = 0;
  double weight_decay = 9.5e-9;
  double clip_norm = 0;  ///< 0: none
  double ms_alpha = 1, ms_beta = 50, ms_base = 0, miner_eps = 0.1;
  int val_every = 0;  ///< steps between two validations at least; 0: after every epoch
  // Running.
  std::string device = "cpu";
  std::string train_precision = "fp32";  ///< of network and projections: fp32, bf16, fp16
  int num_threads = 0;
  int checkpoint_minutes =
      5;  ///< between checkpoints inside an epoch; one is always kept at its end
  std::filesystem::path feature_cache;  ///< empty: in the cache folder
  bool ignore_orientation = false;

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// A line of log.csv.
struct TrainLogRow {
  long long step = 0;
  int epoch = 0;
  double loss = 0, lr = 0, head_lr = 0, gradient_norm = 0, pictures_per_second = 0;
  long long positive_pairs = 0, negative_pairs = 0;
  std::optional<double> recall_at_1;  ///< where it was measured, percent
  std::optional<double> recall_at_5;
};

/// Two pictures the model confuses: alike and of two places, or unlike and of one.
struct HardPair {
  std::filesystem::path first, second;
  bool same_place = false;
  double cosine = 0;
};

/// Where a run stands, told after every step.
struct TrainProgress {
  long long step = 0, steps = 0;
  int epoch = 0, epochs = 0;
  double loss = 0, pictures_per_second = 0, seconds_left = 0;
  std::optional<double> recall_at_1;
  std::string stage;                    ///< "features", "start" (of MLPs), "training", "validation"
  int pictures_done = 0, pictures = 0;  ///< of a stage that is no training
};

/// Workers of a run, as RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say.
struct TrainWorkers {
  int rank = 0;
  int count = 1;
  std::string address = "127.0.0.1";
  int port = 29500;
  int timeout_seconds = 40;  ///< of any exchange: a lost worker is known after it
};

struct TrainResult;

/// Where a run is kept, and who is told of it.
struct TrainRun {
  std::filesystem::path
      folder;            ///< runs/x: config.json, log.csv, index.html, model.safetensors ...
  bool resume = true;    ///< go on with what the folder holds
  TrainWorkers workers;  ///< rank 0 alone writes the folder; all read it
  std::function<void(const TrainProgress&)> progress;
  /// Told by rank 0 of the run so far when files of the folder have been written: a page of it
  /// (write_training_page()) can follow.
  std::function<void(const TrainResult&)> saved;
  std::stop_token stop;  ///< asked before each step: saves, then throws Interrupted
};

/// What a run comes to.
struct RIA_API TrainResult {
  long long steps = 0;
  long long planned_steps = 0;  ///< steps is less where the run has not ended
  std::vector<TrainLogRow> log;
  std::vector<HardPair> hardest;
  std::optional<double> best_recall_at_1;  ///< of model.safetensors, where there was validation
  /// Pictures that could not be read in this call; numbered through the training pictures, then the
  /// validation set's database and queries.
  std::vector<Failure> failures;
  std::filesystem::path model;
  std::string config;  ///< of the whole run, JSON: what config.json holds
  double seconds = 0;  ///< of this call
};

/// Trains and leaves folder/model.safetensors for --method ria-ft. Throws std::invalid_argument for
/// options and sets that cannot be trained, std::runtime_error for files, a loss that is no number
/// (naming step and pictures; the last checkpoint stays) and a lost worker. The next picture of its
/// place stands for a training picture that cannot be read, and a place without any is left out; in
/// validation such a picture is never found and finds nothing.
RIA_API TrainResult train(const TrainingSet& set,
                          const std::optional<Dataset>& validation,
                          const TrainOptions& options,
                          const TrainRun& run);

/// A rung between training-free RIA and RIA-FT, as the paper's table of components has them.
struct TrainRung {
  std::string folder;  ///< training_free, unfreeze, projection, heads, mlp
  std::string name;    ///< the paper's row
  TrainOptions options;
};
/// The five rungs that lead to what `options` train.
RIA_API std::vector<TrainRung> train_ladder(const TrainOptions& options = {});

}  // namespace ria
