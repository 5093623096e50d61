// SPDX-License-Identifier: MIT
#include "train/frozen_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "pipeline/over_pictures.h"
#include "ria/method.h"
#include "ria/weights.h"
#include "util/hash.h"
#include "util/parallel.h"
#include "util/random.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Pictures are known by what they hold: a set that grows keeps what was computed.
std::uint64_t number_of(const std::string& sha256) {
  std::uint64_t number = 0;
  std::from_chars(sha256.data(), sha256.data() + 16, number, 16);
  return number;
}

/// Runs what may fail for a picture, on many threads, and keeps what did.
class Attempts {
 public:
  explicit Attempts(const std::vector<fs::path>& pictures) : pictures_(pictures) {}

  template <typename Do>
  void run(int picture, Do body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      failures_.push_back({picture, pictures_[at(picture)].string(), error.what()});
    }
  }
  std::vector<Failure> failures() && {
    std::sort(failures_.begin(), failures_.end(), [](const Failure& a, const Failure& b) {
      return a.picture < b.picture;
    });
    return std::move(failures_);
  }

 private:
  const std::vector<fs::path>& pictures_;
  std::mutex mutex_;
  std::vector<Failure> failures_;
};

}  // namespace

FrozenSource frozen_source(const TrainNetwork& network, const TrainOptions& options) {
  const auto& rule = options.network.position_rule;
  return {network.frozen,
          network.preprocessing,
          fmt::format("{} {} entry {} stride {} positions {}",
                      options.backbone,
                      network.weights_sha256,
                      network.shape.entry,
                      options.network.stride,
                      rule ? to_string(*rule) : "own"),
          network.shape.entry == 0};
}

FrozenFeatures::FrozenFeatures(const std::vector<fs::path>& pictures,
                               FrozenSource source,
                               FrozenOptions options)
    : pictures_(pictures),
      source_(std::move(source)),
      options_(std::move(options)),
      preprocessing_(source_.preprocessing),
      contents_(pictures.size()) {
  options_.augment.validate();
  if (options_.folder.empty()) options_.folder = cache_folder() / "features";
  preprocessing_.load.ignore_orientation = options_.ignore_orientation;
  if (!options_.own_size) {
    preprocessing_.height = preprocessing_.width = options_.augment.image_size;
    preprocessing_.longest_side = preprocessing_.shortest_side = 0;
  }
  preprocessing_.validate();
}

Image FrozenFeatures::load(int picture) const {
  return load_image(pictures_.at(at(picture)), preprocessing_.load);
}

std::string FrozenFeatures::content(int picture) const {
  const std::string& known = contents_.at(at(picture));
  return known.empty() ? sha256_file(pictures_[at(picture)]) : known;
}

FeatureCache FrozenFeatures::cache(int variant) const {
  std::string key = fmt::format("{} | {}", source_.key, to_string(preprocessing_));
  if (variant > 0) {
    key += fmt::format(" | {} variant {}", options_.augment.key(), variant);
  }
  return {options_.folder, key};
}

EntryValues FrozenFeatures::run(const Image& picture) const {
  return source_.part->run(preprocess(picture, preprocessing_));
}

EntryValues FrozenFeatures::make(const Image& picture,
                                 const std::string& content,
                                 int variant) const {
  if (variant == 0) return run(picture);
  // Of no run's seed and no epoch: runs of all seeds share what is kept.
  constexpr std::uint32_t kAnySeed = 0;
  constexpr int kNoEpoch = -1;
  const std::uint64_t seed = augment_seed(kAnySeed, kNoEpoch, number_of(content), variant);
  return run(augmented(picture, options_.augment, seed));
}

FrozenFeatures::Entry FrozenFeatures::make_and_keep(const Image& picture,
                                                    const std::string& content,
                                                    int variant) const {
  EntryValues made = make(picture, content, variant);
  const int rows = static_cast<int>(made.values.size()) / std::max(made.channels, 1);
  CachedFeatures kept;
  kept.features.patches = Matrix(rows, made.channels, std::move(made.values));
  kept.features.grid_height = made.height;
  kept.features.grid_width = made.width;
  kept.image_size = {picture.height, picture.width};
  const FeatureCache folder = cache(variant);
  folder.put(folder.key_of_content(content), kept);
  const auto values = kept.features.patches.values();
  return {made.height,
          made.width,
          made.channels,
          make_tensor({rows, made.channels}, {values.begin(), values.end()})};
}

void FrozenFeatures::prepare_one(int picture, int variants) {
  if (source_.from_pixels) {
    load(picture);
    return;
  }
  contents_[at(picture)] = content(picture);
  Image image;
  for (int variant = 0; variant <= variants; ++variant) {
    const FeatureCache folder = cache(variant);
    if (folder.map(folder.key_of_content(contents_[at(picture)]))) continue;
    if (image.empty()) image = load(picture);
    make_and_keep(image, contents_[at(picture)], variant);
  }
}

std::vector<Failure> FrozenFeatures::prepare(int variants,
                                             const ProgressCallback& progress,
                                             std::stop_token stop) {
  return prepare(variants, 0, static_cast<int>(pictures_.size()), progress, stop);
}

std::vector<Failure> FrozenFeatures::prepare(
    int variants, int first, int end, const ProgressCallback& progress, std::stop_token stop) {
  const int total = end - first;
  int done = 0;
  std::mutex mutex;
  Attempts attempts(pictures_);
  const auto one = [&](int number) {
    attempts.run(first + number, [&] { prepare_one(first + number, variants); });
    const std::lock_guard lock(mutex);
    ++done;
    if (progress) progress(done, total);
  };
  over_pictures(total, options_.num_threads, one, stop);
  if (stop.stop_requested() && done < total) throw Interrupted(done, total);
  return std::move(attempts).failures();
}

FrozenFeatures::Entry FrozenFeatures::entry(const PictureVariant& wanted) const {
  const std::string sha256 = content(wanted.picture);
  if (source_.from_pixels) {
    EntryValues made = make(load(wanted.picture), sha256, wanted.variant);
    const auto count = std::ssize(made.values);
    return {made.height, made.width, made.channels, make_tensor({count}, made.values)};
  }
  const FeatureCache folder = cache(wanted.variant);
  if (auto found = folder.map(folder.key_of_content(sha256))) {
    return {found->grid_height,
            found->grid_width,
            static_cast<int>(found->patches.shape[1]),
            std::move(found->patches)};
  }
  return make_and_keep(load(wanted.picture), sha256, wanted.variant);
}

FrozenFeatures::Entry FrozenFeatures::Entry::drawn(const PatchDraw& draw,
                                                   const PictureVariant& own) const {
  const int patches = height * width, leading = rows() - patches;
  if (draw.patches == 0 || draw.patches >= patches) return *this;
  SplitMix64 random(mixed_seed({draw.seed,
                                static_cast<std::uint64_t>(own.picture),
                                static_cast<std::uint64_t>(own.variant)}));
  std::vector<int> taken(at(patches));
  std::iota(taken.begin(), taken.end(), leading);
  shuffle(taken, random);
  taken.resize(at(draw.patches));
  std::sort(taken.begin(), taken.end());
  const std::size_t row = at(channels) * item_size(values.dtype);
  std::vector<std::uint8_t> bytes(
      values.bytes.begin(), values.bytes.begin() + leading * static_cast<std::ptrdiff_t>(row));
  for (const int one : taken) {
    const auto from = values.bytes.begin() + static_cast<std::ptrdiff_t>(at(one) * row);
    bytes.insert(bytes.end(), from, from + static_cast<std::ptrdiff_t>(row));
  }
  const std::int64_t left = leading + draw.patches;
  return {draw.patches, 1, channels, make_tensor(values.dtype, {left, channels}, std::move(bytes))};
}

void FrozenFeatures::fill_from(std::span<const Entry> entries, TrainBatch& batch) const {
  batch.count = static_cast<int>(entries.size());
  if (entries.empty()) return batch.values.clear();
  const Entry& first = entries[0];
  const auto size = static_cast<std::size_t>(first.values.size());
  for (const Entry& one : entries) {
    if (one.height != first.height || one.width != first.width ||
        one.values.size() != first.values.size()) {
      throw std::runtime_error(fmt::format("features of {}x{} and {}x{} points in one batch",
                                           first.height,
                                           first.width,
                                           one.height,
                                           one.width));
    }
  }
  batch.height = first.height;
  batch.width = first.width;
  batch.channels = first.channels;
  batch.values.resize(size * entries.size());
  parallel_for(batch.count, resolve_threads(options_.num_threads), [&](int i) {
    entries[at(i)].values.copy_floats(std::span(batch.values).subspan(at(i) * size, size));
  });
  if (source_.from_pixels) batch.positions = source_.part->positions(first.height, first.width);
}

FrozenFeatures::Entry FrozenFeatures::fresh_entry(const PictureVariant& wanted, int epoch) const {
  const auto [picture, variant] = wanted;
  const std::uint64_t seed =
      augment_seed(options_.seed, epoch, static_cast<std::uint64_t>(picture), variant);
  EntryValues made = run(augmented(load(picture), options_.augment, seed));
  const auto count = std::ssize(made.values);
  return {made.height, made.width, made.channels, make_tensor({count}, made.values)};
}

std::vector<Failure> FrozenFeatures::fill_with(
    std::span<const PictureVariant> wanted,
    const std::function<Entry(const PictureVariant&)>& make,
    TrainBatch& batch) const {
  std::vector<Entry> entries(wanted.size());
  Attempts attempts(pictures_);
  over_pictures(static_cast<int>(wanted.size()), options_.num_threads, [&](int i) {
    const PictureVariant& one = wanted[at(i)];
    attempts.run(one.picture, [&] { entries[at(i)] = make(one); });
  });
  std::vector<Failure> failures = std::move(attempts).failures();
  if (failures.empty()) fill_from(entries, batch);
  return failures;
}

std::vector<Failure> FrozenFeatures::fill(std::span<const PictureVariant> wanted,
                                          TrainBatch& batch,
                                          const PatchDraw& draw) const {
  return fill_with(
      wanted, [&](const PictureVariant& one) { return entry(one).drawn(draw, one); }, batch);
}

std::vector<Failure> FrozenFeatures::fill_fresh(std::span<const int> pictures,
                                                int epoch,
                                                TrainBatch& batch) const {
  std::map<int, int> times;
  std::vector<PictureVariant> wanted;
  for (const int picture : pictures) wanted.push_back({picture, times[picture]++});
  return fill_with(
      wanted, [&](const PictureVariant& one) { return fresh_entry(one, epoch); }, batch);
}

}  // namespace ria
