// SPDX-License-Identifier: MIT
#include "train/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "util/parallel.h"
#include "util/random.h"

namespace ria {

namespace {

FrozenOptions frozen_options(const TrainOptions& options, int image_size) {
  FrozenOptions frozen;
  frozen.folder = options.feature_cache;
  frozen.augment = options.augmentation;
  frozen.own_size = image_size == 0;
  if (image_size > 0) frozen.augment.image_size = image_size;
  frozen.seed = options.seed;
  frozen.ignore_orientation = options.ignore_orientation;
  frozen.num_threads = options.num_threads;
  return frozen;
}

/// 0 for none, N for cached:N, -1 for standard.
int variants_of(const std::string& augment) {
  if (augment == "none") return 0;
  return augment == "standard" ? -1 : std::stoi(augment.substr(augment.find(':') + 1));
}

std::vector<std::filesystem::path> pictures_of(const std::optional<Dataset>& dataset) {
  if (!dataset) return {};
  std::vector<std::filesystem::path> pictures = dataset->database;
  pictures.insert(pictures.end(), dataset->queries.begin(), dataset->queries.end());
  return pictures;
}

}  // namespace

bool enters_at_pixels(const TrainOptions& options) {
  return options.device != "cpu" && options.augment == "standard";
}

TrainInputs::TrainInputs(const TrainingSet& set,
                         const std::optional<Dataset>& validation,
                         const TrainOptions& options,
                         const TrainWorkers& workers,
                         const TrainNetwork& network)
    : set_(set),
      options_(options),
      workers_(workers),
      variants_(variants_of(options.augment)),
      ahead_of_engine_(options.device != "cpu"),
      checked_on_(pictures_of(validation)),
      training_(set.pictures,
                frozen_source(network, options),
                frozen_options(options, options.image_size)),
      evaluation_(checked_on_,
                  frozen_source(network, options),
                  frozen_options(options, options.eval_image_size)) {}

void TrainInputs::prepare(const Meet& meet) {
  if (enters_at_pixels(options_)) return;
  const int training = variants_ >= 0 ? training_count() : 0;
  const int evaluation = static_cast<int>(checked_on_.size());
  const auto told = [&](int before) {
    return [&, before](int done, int) { meet(before + done, training + evaluation); };
  };
  prepare(training_, training, variants_, 0, told(0));
  prepare(evaluation_, evaluation, 0, training_count(), told(training));
}

void TrainInputs::prepare(
    FrozenFeatures& features, int count, int variants, int number, const Meet& meet) {
  // Of a worker between two meetings; workers must agree on it, however many cores they have.
  const int together = workers_.count > 1 ? 8 : 4 * resolve_threads(options_.num_threads);
  const int round = together * workers_.count;
  for (int first = 0; first < count; first += round) {
    const int begin = std::min(count, first + workers_.rank * together);
    const int end = std::min(count, begin + together);
    remember(features.prepare(variants, begin, end), number);
    meet(std::min(count, first + round), count);
  }
}

bool TrainInputs::remember(const std::vector<Failure>& failures, int number) {
  const std::lock_guard lock(mutex_);
  for (const Failure& failure : failures) {
    unreadable_.emplace(number + failure.picture, failure.reason);
  }
  return !failures.empty();
}

bool TrainInputs::is_unreadable(int picture) const {
  const std::lock_guard lock(mutex_);
  return unreadable_.contains(picture);
}

std::vector<Failure> TrainInputs::failures() const {
  const std::lock_guard lock(mutex_);
  std::vector<Failure> all;
  for (const auto& [picture, reason] : unreadable_) {
    const auto& file = picture < training_count() ? set_.pictures[picture]
                                                  : checked_on_[picture - training_count()];
    all.push_back({picture, file.string(), reason});
  }
  return all;
}

std::string TrainInputs::failures_text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [picture, reason] : unreadable_) {
    text += fmt::format("{} {}\n", picture, reason);
  }
  return text;
}

void TrainInputs::add_failures(const std::string& text) {
  const std::lock_guard lock(mutex_);
  std::istringstream in(text);
  int picture = 0;
  for (std::string reason; in >> picture && std::getline(in.ignore(1), reason);) {
    unreadable_.emplace(picture, reason);
  }
}

void TrainInputs::check_any_readable() const {
  const std::vector<Failure> all = failures();
  const auto training = std::count_if(all.begin(), all.end(), [this](const Failure& failure) {
    return failure.picture < training_count();
  });
  if (training < training_count()) return;
  throw std::runtime_error(fmt::format(
      "none of {} training pictures can be read; the first: {}", training, all[0].reason));
}

PictureBatch TrainInputs::with_readable(const PictureBatch& batch) const {
  PictureBatch readable;
  readable.group = batch.group;
  for (std::size_t i = 0; i < batch.pictures.size(); ++i) {
    const std::vector<int>& place = set_.places[batch.labels[i]].pictures;
    const auto own = std::find(place.begin(), place.end(), batch.pictures[i]) - place.begin();
    for (std::ptrdiff_t step = 0; step < std::ssize(place); ++step) {
      const int picture = place[(own + step) % std::ssize(place)];
      if (is_unreadable(picture)) continue;
      readable.pictures.push_back(picture);
      readable.labels.push_back(batch.labels[i]);
      break;
    }
  }
  return readable;
}

std::vector<PictureVariant> TrainInputs::variants_of_epoch(const std::vector<int>& pictures,
                                                           int epoch) const {
  std::map<int, int> times;  // a picture that is wanted again comes in its next variant
  std::vector<PictureVariant> wanted;
  for (const int picture : pictures) {
    const int turn = epoch + picture + times[picture]++;
    wanted.push_back({picture, turn % (variants_ + 1)});
  }
  return wanted;
}

TrainingShare TrainInputs::make(const PictureBatch& batch, int epoch, TrainingShare memory) {
  const PictureBatch share =
      share_of(batch, options_.pictures_per_place, workers_.rank, workers_.count);
  for (;;) {
    PictureBatch own = with_readable(share);
    const PatchDraw draw{options_.patches_per_step,
                         mixed_seed({options_.seed, static_cast<std::uint64_t>(epoch)})};
    const std::vector<Failure> failures =
        variants_ < 0 ? training_.fill_fresh(own.pictures, epoch, memory.batch)
                      : training_.fill(variants_of_epoch(own.pictures, epoch), memory.batch, draw);
    if (remember(failures, 0)) continue;
    memory.batch.labels = std::move(own.labels);
    memory.pictures = std::move(own.pictures);
    return memory;
  }
}

TrainingShare TrainInputs::training(const std::vector<PictureBatch>& batches,
                                    int epoch,
                                    int number,
                                    TrainingShare memory) {
  const bool there = ahead_.share.valid() && ahead_.epoch == epoch && ahead_.number == number;
  TrainingShare share =
      there ? ahead_.share.get() : make(batches[number], epoch, std::move(memory));
  ahead_ = {};
  if (ahead_of_engine_ && number + 1 < std::ssize(batches)) {
    ahead_ = {epoch,
              number + 1,
              std::async(std::launch::async, [this, epoch, next = batches[number + 1]] {
                return make(next, epoch, {});
              })};
  }
  return share;
}

TrainBatch TrainInputs::plain(const std::vector<int>& pictures) {
  for (;;) {
    std::vector<PictureVariant> wanted;
    for (const int picture : pictures) {
      if (!is_unreadable(picture)) wanted.push_back({picture, 0});
    }
    TrainBatch batch;
    if (!remember(training_.fill(wanted, batch), 0)) return batch;
  }
}

TrainBatch TrainInputs::evaluation(int picture) {
  TrainBatch batch;
  if (is_unreadable(training_count() + picture)) return batch;
  const PictureVariant wanted{picture, 0};
  remember(evaluation_.fill({&wanted, 1}, batch), training_count());
  return batch;
}

}  // namespace ria
