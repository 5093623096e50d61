// SPDX-License-Identifier: MIT
// Many pictures at once: each thread takes a picture through all stages on one core, so decoding,
// network and head of different pictures overlap and no stage waits for another.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>

#include "pipeline/feature_cache.h"
#include "pipeline/journal.h"
#include "pipeline/over_pictures.h"
#include "ria/recognizer.h"
#include "ria/version.h"
#include "util/hash.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Time between calls.
class Lap {
 public:
  double seconds() {
    const double spent = seconds_since(start_);
    start_ = Clock::now();
    return spent;
  }

 private:
  Clock::time_point start_ = Clock::now();
};

/// A picture that is decoded when it is first needed.
class Loader {
 public:
  explicit Loader(const fs::path& file) : file_(file) {}

  const fs::path& file() const { return file_; }
  const Image& image() {
    if (image_.empty()) {
      Lap lap;
      image_ = load_image(file_);
      image_size_ = {image_.height, image_.width};
      seconds_ = lap.seconds();
    }
    return image_;
  }
  /// Of the decoding; each method that reads the picture anew is told the whole.
  double seconds() const { return seconds_; }
  const std::array<int, 2>& image_size() const { return image_size_; }
  void set_image_size(const std::array<int, 2>& size) { image_size_ = size; }

 private:
  const fs::path& file_;
  Image image_;
  std::array<int, 2> image_size_{};
  double seconds_ = 0;
};

/// The run's name: what is described, with what.
std::string fingerprint(const std::vector<const Recognizer*>& recognizers,
                        const std::vector<fs::path>& pictures,
                        const RunOptions& options) {
  std::string text = fmt::format(
      "{}{}", RIA_VERSION, options.feature_cache.empty() ? "" : " with features of half precision");
  for (const Recognizer* recognizer : recognizers) {
    const IndexHeader header = recognizer->header();
    text += fmt::format("\n{} {} {}", header.method, header.options, header.weights_sha256);
    for (const auto& [name, matrix] : recognizer->fitted()) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(matrix.data());
      text += fmt::format(" {} {}", name, sha256_bytes({bytes, matrix.size() * sizeof(float)}));
    }
  }
  return run_fingerprint(std::move(text), pictures);
}

/// What one recogniser makes of one picture.
struct Described {
  Descriptor descriptor;
  PackedLocalFeatures local;
  StageSeconds cost;
};

/// Local features as floats of a journal's record: sizes, then the halves, two in a float.
void append_local(const PackedLocalFeatures& local, std::vector<float>& values) {
  for (const int size : {local.dim, local.grid_height, local.grid_width}) {
    values.push_back(static_cast<float>(size));
  }
  const std::size_t begin = values.size();
  values.resize(begin + (local.halves.size() + 1) / 2);
  std::memcpy(&values[begin], local.halves.data(), local.halves.size() * sizeof(std::uint16_t));
}

/// The inverse; false if there are too few values.
bool take_local(std::span<const float>& values, PackedLocalFeatures& local) {
  if (values.size() < 3) return false;
  local.dim = static_cast<int>(values[0]);
  local.grid_height = static_cast<int>(values[1]);
  local.grid_width = static_cast<int>(values[2]);
  local.halves.resize(static_cast<std::size_t>(local.dim) * local.grid_height * local.grid_width);
  const std::size_t floats = (local.halves.size() + 1) / 2;
  if (values.size() < 3 + floats) return false;
  std::memcpy(local.halves.data(), &values[3], local.halves.size() * sizeof(std::uint16_t));
  values = values.subspan(3 + floats);
  return true;
}

/// One run of describe_together().
class Run {
 public:
  Run(const std::vector<const Recognizer*>& recognizers,
      const std::vector<fs::path>& pictures,
      const RunOptions& options)
      : recognizers_(recognizers),
        pictures_(pictures),
        options_(options),
        results_(recognizers.size()) {
    for (std::size_t r = 0; r < recognizers.size(); ++r) {
      results_[r].descriptors = Matrix::Zero(total(), recognizers[r]->dim());
      results_[r].image_sizes.resize(pictures.size());
      if (recognizers[r]->reranker() != nullptr) results_[r].locals.resize(pictures.size());
      for (const fs::path& picture : pictures) results_[r].names.push_back(name_of(picture));
    }
    finished_.assign(pictures.size(), false);
  }

  std::vector<Descriptions> describe() {
    const Clock::time_point start = Clock::now();
    if (options_.resume) {
      journal_.emplace(fingerprint(recognizers_, pictures_, options_));
      journal_->take(total(), [this](const Journal::Record& record) { restore(record); });
    }
    run_all();
    if (options_.stop.stop_requested() && done_ < total()) {
      if (journal_) journal_->flush();
      throw Interrupted(done_, total());
    }
    if (journal_) journal_->remove();
    for (Descriptions& result : results_) {
      result.failures = failures_;
      result.seconds.wall = seconds_since(start);
    }
    return std::move(results_);
  }

 private:
  std::string name_of(const fs::path& picture) const {
    if (options_.names_relative_to.empty()) return picture.string();
    return picture.lexically_proximate(options_.names_relative_to).generic_string();
  }

  int total() const { return static_cast<int>(pictures_.size()); }

  void run_all() {
    over_pictures(
        total(),
        options_.num_threads,
        [this](int i) {
          if (!finished_[i]) describe_one(i);
        },
        options_.stop);
    std::sort(failures_.begin(), failures_.end(), [](const Failure& a, const Failure& b) {
      return a.picture < b.picture;
    });
  }

  void restore(const Journal::Record& record) {
    std::span<const float> values = record.values;
    std::vector<Described> all(results_.size());
    for (std::size_t r = 0; r < results_.size(); ++r) {
      const auto dim = static_cast<std::size_t>(results_[r].descriptors.cols());
      if (values.size() < dim) return;
      all[r].descriptor = Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(dim));
      values = values.subspan(dim);
      if (!results_[r].locals.empty() && !take_local(values, all[r].local)) return;
    }
    if (!values.empty()) return;
    put(record.picture, record.image_size, all);
    if (!finished_[record.picture]) ++done_;
    finished_[record.picture] = true;
  }

  void describe_one(int i) {
    try {
      describe_or_throw(i);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      failures_.push_back({i, pictures_[i].string(), error.what()});
    }
    const std::lock_guard lock(mutex_);
    ++done_;
    if (options_.progress) options_.progress(done_, total());
  }

  /// What one picture costs each recogniser: reading it and the backbone are counted for all that
  /// share them, so that every method shows its own price.
  void describe_or_throw(int i) {
    Loader loader(pictures_[i]);
    std::vector<Described> all(recognizers_.size());
    for (std::size_t first = 0; first < recognizers_.size(); ++first) {
      if (all[first].descriptor.size() > 0) continue;
      const Recognizer& owner = *recognizers_[first];
      StageSeconds spent;
      const PatchFeatures features = features_of(owner, loader, spent);
      for (std::size_t r = first; r < recognizers_.size(); ++r) {
        const Recognizer& one = *recognizers_[r];
        if (&one.backbone() != &owner.backbone() || one.preprocessing() != owner.preprocessing()) {
          continue;
        }
        Lap lap;
        all[r].descriptor = one.postprocessor().apply(one.aggregator().aggregate(features));
        spent.aggregate = lap.seconds();
        if (one.reranker() != nullptr) all[r].local = pack(one.reranker()->extract(features));
        spent.local = lap.seconds();
        all[r].cost = spent;
      }
    }
    keep({i, loader.image_size(), {}}, all);
  }

  /// From the cache, or from the network and into the cache.
  PatchFeatures features_of(const Recognizer& recognizer, Loader& loader, StageSeconds& spent) {
    Lap lap;
    CachedFeatures found =
        cached_features(options_.feature_cache, recognizer.feature_key(), loader.file(), [&] {
          const Pixels pixels = preprocess(loader.image(), recognizer.preprocessing());
          spent.decode = loader.seconds() + lap.seconds();
          CachedFeatures made{recognizer.backbone().extract(pixels), loader.image_size()};
          spent.backbone = lap.seconds();
          return made;
        });
    if (spent.backbone == 0) spent.decode = lap.seconds();  // what reading the cache took
    loader.set_image_size(found.image_size);
    return std::move(found.features);
  }

  void put(int picture, const std::array<int, 2>& image_size, std::vector<Described>& all) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      results_[r].descriptors.row(picture) = all[r].descriptor;
      results_[r].image_sizes[picture] = image_size;
      if (!results_[r].locals.empty()) results_[r].locals[picture] = std::move(all[r].local);
    }
  }

  void keep(Journal::Record record, std::vector<Described>& all) {
    for (std::size_t r = 0; journal_ && r < all.size(); ++r) {
      const Descriptor& descriptor = all[r].descriptor;
      record.values.insert(record.values.end(), descriptor.begin(), descriptor.end());
      if (!results_[r].locals.empty()) append_local(all[r].local, record.values);
    }
    if (journal_) journal_->append(record);
    put(record.picture, record.image_size, all);
    const std::lock_guard lock(mutex_);
    for (std::size_t r = 0; r < all.size(); ++r) {
      results_[r].seconds.decode += all[r].cost.decode;
      results_[r].seconds.backbone += all[r].cost.backbone;
      results_[r].seconds.aggregate += all[r].cost.aggregate;
      results_[r].seconds.local += all[r].cost.local;
    }
  }

  const std::vector<const Recognizer*>& recognizers_;
  const std::vector<fs::path>& pictures_;
  const RunOptions& options_;
  std::vector<Descriptions> results_;
  std::optional<Journal> journal_;
  std::vector<char> finished_;  // not vector<bool>: threads read it side by side
  std::mutex mutex_;
  int done_ = 0;
  std::vector<Failure> failures_;
};

}  // namespace

std::vector<Descriptions> describe_together(const std::vector<const Recognizer*>& recognizers,
                                            const std::vector<fs::path>& pictures,
                                            const RunOptions& run) {
  return Run(recognizers, pictures, run).describe();
}

Interrupted::Interrupted(int finished, int all)
    : std::runtime_error(fmt::format("interrupted after {} of {} pictures", finished, all)),
      done(finished),
      total(all) {}

Descriptions Descriptions::without_failures() const {
  std::vector<char> bad(names.size(), 0);
  for (const Failure& failure : failures) bad[failure.picture] = 1;
  Descriptions good;
  good.descriptors.resize(descriptors.rows() - static_cast<Eigen::Index>(failures.size()),
                          descriptors.cols());
  good.seconds = seconds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (bad[i]) continue;
    good.descriptors.row(static_cast<Eigen::Index>(good.names.size())) =
        descriptors.row(static_cast<Eigen::Index>(i));
    good.names.push_back(names[i]);
    good.image_sizes.push_back(image_sizes[i]);
    if (!locals.empty()) good.locals.push_back(locals[i]);
  }
  return good;
}

}  // namespace ria
