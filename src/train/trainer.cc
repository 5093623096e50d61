// SPDX-License-Identifier: MIT
// The loop: batches in, steps, validation, checkpoints.
#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "evaluate/predictions.h"
#include "ria/recognizer.h"
#include "train/hard_pairs.h"
#include "train/mlp_start.h"
#include "train/schedule.h"
#include "train/validation.h"
#include "util/plugin.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using std::chrono::duration;

constexpr std::chrono::seconds kBetweenSaves(30);
constexpr double kLongStep = 0.5;  // seconds: a stop does not wait for the end of such a step

const TorchFunctions& torch() {
  return plugin<TorchFunctions>(
      {"torch", "training", "LibTorch", "apt-get install libtorch1.13 (to build: libtorch-dev)"});
}

BatchOptions batch_options(const TrainOptions& options) {
  return {options.places_per_batch, options.pictures_per_place, options.seed};
}

EngineOptions engine_options(const TrainOptions& options, const TrainWorkers& workers) {
  EngineOptions engine;
  engine.device = options.device;
  engine.precision = options.train_precision;
  engine.num_threads = options.num_threads;
  engine.ms_alpha = options.ms_alpha;
  engine.ms_beta = options.ms_beta;
  engine.ms_base = options.ms_base;
  engine.miner_eps = options.miner_eps;
  engine.weight_decay = options.weight_decay;
  engine.clip_norm = options.clip_norm;
  engine.workers = workers;
  return engine;
}

std::vector<fs::path> files_of(const TrainingSet& set, const std::vector<int>& pictures) {
  std::vector<fs::path> files;
  for (const int picture : pictures) files.push_back(set.pictures[picture]);
  return files;
}

/// The pictures whose descriptors are no numbers, or where all are the first ones; a few of them.
std::string suspects(const Matrix& descriptors, const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptors.rows(); ++i) {
    const auto row = descriptors.row(i);
    const bool finite =
        std::all_of(row.begin(), row.end(), [](float v) { return std::isfinite(v); });
    if (!finite) names.push_back(files[i].string());
  }
  if (names.empty()) {
    for (const fs::path& file : files) names.push_back(file.string());
  }
  constexpr std::size_t kNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, names.size()); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

}  // namespace

Trainer::Trainer(const TrainingSet& set,
                 const std::optional<Dataset>& validation,
                 const TrainOptions& options,
                 const TrainRun& run)
    : set_(set),
      validation_(validation),
      options_(options),
      run_(run),
      folder_(run.folder, run.workers.rank == 0),
      writer_(folder_.checkpoint(), run.stop) {
  const std::string libtorch = torch().version();
  network_ = make_train_network(options, enters_at_pixels(options));
  inputs_.emplace(set, validation, options, run_.workers, network_);
  for (const HeadShape& head : network_.shape.heads) {
    dim_ += head.out > 0 ? head.out : head.d * (head.d + 1) / 2;
  }
  plan();
  engine_ = torch().make(
      network_.shape, network_.tensors, network_.trained, engine_options(options, run.workers));
  config_ = run_config(set, validation, options, facts(libtorch), run.workers.count);
}

void Trainer::plan() {
  const auto size = [&](int epoch) {
    return static_cast<int>(epoch_batches(set_, batch_options(options_), epoch).size());
  };
  if (network_.trained.empty()) return;  // training-free: the model is ready as it is
  const int first = size(0);
  if (first == 0) {
    throw std::invalid_argument(fmt::format(
        "{}: no batch of two places can be made of {} places", set_.name, set_.places.size()));
  }
  epochs_ = epochs_of(options_, first);
  steps_ = first;
  for (int epoch = 1; epoch < epochs_; ++epoch) steps_ += size(epoch);
}

RunFacts Trainer::facts(const std::string& libtorch) const {
  RunFacts facts;
  facts.libtorch = libtorch;
  facts.weights_sha256 = network_.weights_sha256;
  facts.epochs = epochs_;
  facts.steps = steps_;
  facts.dim = dim_;
  for (const NamedTensor& tensor : network_.tensors) {
    const bool trained = std::find(network_.trained.begin(), network_.trained.end(), tensor.name) !=
                         network_.trained.end();
    if (trained) facts.trained_parameters += std::ssize(tensor.values);
  }
  return facts;
}

TrainResult Trainer::train() {
  started_ = Clock::now();
  begin();
  while (position_.epoch < epochs_) run_epoch();
  share_failures();
  report_progress("training");
  return result();
}

void Trainer::begin() {
  const bool resumed = resume();
  nlohmann::ordered_json own = config_;
  own["resumed_step"] = step_;
  if (several()) check_same_workers(engine_->exchange(own.dump()));
  folder_.keep();
  if (writes()) {
    if (!resumed) folder_.forget_checkpoint();
    folder_.write_config(config_);
  }
  const auto meet = [this](const char* stage) {
    return [this, stage](int done, int total) {
      stop_if_asked();
      report_progress(stage, done, total);
    };
  };
  if (position_.epoch < epochs_ || !resumed) {
    inputs_->prepare(meet("features"));
    share_failures();
    inputs_->check_any_readable();
  }
  if (resumed) return;
  start_mlps(
      *engine_,
      run_.workers,
      network_,
      options_.seed,
      static_cast<int>(set_.pictures.size()),
      [this](const std::vector<int>& pictures) {
        TrainBatch batch = inputs_->plain(pictures);
        if (batch.count == 0) inputs_->check_any_readable();
        return batch;
      },
      meet("start"));
  if (validation_) {
    position_.log.push_back(TrainLogRow{});
    validate();
  }
  last_saved_ = Clock::now();
  save_all();
}

bool Trainer::resume() {
  if (!run_.resume || !fs::exists(folder_.checkpoint())) return false;
  Checkpoint checkpoint = load_checkpoint(folder_.checkpoint());
  check_same_run(folder_.checkpoint(), checkpoint.config, config_);
  engine_->set_state(checkpoint.engine);
  position_ = std::move(checkpoint.position);
  step_ = checkpoint.engine.steps;
  last_saved_ = Clock::now();
  return true;
}

void Trainer::run_epoch() {
  const auto batches = epoch_batches(set_, batch_options(options_), position_.epoch);
  if (position_.batch == 0) position_.hardest.clear();
  while (position_.batch < std::ssize(batches)) {
    stop_if_asked();
    step(batches);
    ++position_.batch;
    if (step_ < steps_) report_progress("training");
    const double minutes = duration<double, std::ratio<60>>(Clock::now() - last_saved_).count();
    if (minutes >= options_.checkpoint_minutes && position_.batch < std::ssize(batches)) save();
  }
  ++position_.epoch;
  position_.batch = 0;
  const bool due = step_ - position_.validated_step >= options_.val_every;
  if (validation_ && (due || position_.epoch == epochs_)) validate();
  // Epochs of a small set last seconds, and files of a large network are not written as fast.
  const bool soon = Clock::now() - last_saved_ < kBetweenSaves;
  if (position_.epoch == epochs_ || !soon) save_all();
}

void Trainer::step(const std::vector<PictureBatch>& batches) {
  const auto start = Clock::now();
  const PictureBatch& batch = batches[position_.batch];
  share_ = inputs_->training(batches, position_.epoch, position_.batch, std::move(share_));
  const TrainingShare& own = share_;
  if (own.pictures.empty()) inputs_->check_any_readable();
  if (writes() && step_seconds_ > kLongStep) writer_.arm(checkpoint());
  const double share = rate_share(options_, step_, steps_);
  const StepResult made = engine_->step(own.batch, share * options_.lr, share * options_.head_lr);
  if (!made.finite) {
    throw std::runtime_error(
        fmt::format("step {}: loss or gradients are no numbers (loss {}), pictures {}; the last "
                    "checkpoint stays: a smaller lr or clip_norm may help",
                    step_ + 1,
                    made.loss,
                    suspects(made.descriptors, files_of(set_, own.pictures))));
  }
  ++step_;
  if (writes()) {
    add_hard_pairs(
        made.descriptors, own.batch.labels, files_of(set_, own.pictures), position_.hardest);
  }
  const double seconds = duration<double>(Clock::now() - start).count();
  step_seconds_ = step_seconds_ == 0 ? seconds : 0.9 * step_seconds_ + 0.1 * seconds;
  TrainLogRow row;
  row.step = step_;
  row.epoch = position_.epoch + 1;
  row.loss = made.loss;
  row.lr = share * options_.lr;
  row.head_lr = share * options_.head_lr;
  row.gradient_norm = made.gradient_norm;
  row.pictures_per_second = static_cast<double>(batch.pictures.size()) / seconds;
  row.positive_pairs = made.positive_pairs;
  row.negative_pairs = made.negative_pairs;
  position_.log.push_back(row);
}

void Trainer::validate() {
  const ModelRecall recall = validate_model(
      *engine_, run_.workers, dim_, *validation_, *inputs_, [this](int done, int total) {
        stop_if_asked();
        report_progress("validation", done, total);
      });
  position_.validated_step = step_;
  position_.log.back().recall_at_1 = recall.at_1;
  position_.log.back().recall_at_5 = recall.at_5;
  if (position_.best && !recall.better_than(*position_.best)) return;
  position_.best = recall;
  if (writes()) write_model(folder_.model());
}

void Trainer::write_model(const fs::path& file) const {
  write_ria_ft(file, network_, engine_->tensors());
}

Checkpoint Trainer::checkpoint() const { return {config_, position_, engine_->state()}; }

void Trainer::save() {
  if (!writes()) return;
  writer_.save(checkpoint());
  folder_.write_log(position_.log);
  last_saved_ = Clock::now();
}

void Trainer::save_all() {
  if (!writes()) return;
  write_model(folder_.last());
  if (!validation_) write_model(folder_.model());
  save();
  if (run_.saved) run_.saved(result());
}

void Trainer::stop_if_asked() {
  bool asked = run_.stop.stop_requested();
  if (several()) {
    // All stop at the same step, or those that go on would wait for the others.
    const std::vector<std::string> all = engine_->exchange(asked ? "stop" : "go on");
    asked = std::count(all.begin(), all.end(), "stop") > 0;
  }
  if (!asked) return;
  if (step_ > 0) save();
  throw Interrupted(static_cast<int>(step_), static_cast<int>(steps_), "steps");
}

void Trainer::share_failures() {
  if (!several()) return;
  for (const std::string& text : engine_->exchange(inputs_->failures_text())) {
    inputs_->add_failures(text);
  }
}

void Trainer::report_progress(const std::string& stage, int done, int total) const {
  if (!run_.progress) return;
  TrainProgress at;
  at.stage = stage;
  at.pictures_done = done;
  at.pictures = total;
  at.step = step_;
  at.steps = steps_;
  at.epoch = std::min(position_.epoch + 1, epochs_);
  at.epochs = epochs_;
  at.seconds_left = step_seconds_ * static_cast<double>(steps_ - step_);
  for (auto row = position_.log.rbegin(); row != position_.log.rend(); ++row) {
    if (row == position_.log.rbegin()) {
      at.loss = row->loss;
      at.pictures_per_second = row->pictures_per_second;
    }
    if (!row->recall_at_1) continue;
    at.recall_at_1 = row->recall_at_1;
    break;
  }
  run_.progress(at);
}

TrainResult Trainer::result() const {
  TrainResult result;
  result.steps = step_;
  result.planned_steps = steps_;
  result.log = position_.log;
  result.hardest = position_.hardest;
  result.failures = inputs_->failures();
  if (position_.best) result.best_recall_at_1 = position_.best->at_1;
  result.model = folder_.model();
  result.config = config_.dump();
  result.seconds = duration<double>(Clock::now() - started_).count();
  return result;
}

TrainResult train(const TrainingSet& set,
                  const std::optional<Dataset>& validation,
                  const TrainOptions& options,
                  const TrainRun& run) {
  options.validate();
  if (validation) check_labels(*validation);
  return Trainer(set, validation, options, run).train();
}

}  // namespace ria
