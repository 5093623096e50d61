// SPDX-License-Identifier: MIT
// Many pictures at once: each thread takes a picture through all stages on one core, so decoding,
// network and head of different pictures overlap and no stage waits for another.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include "pipeline/journal.h"
#include "ria/recognizer.h"
#include "ria/version.h"
#include "util/hash.h"
#include "util/parallel.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The run's name: what is described, with what.
std::string fingerprint(const std::vector<const Recognizer*>& recognizers,
                        const std::vector<fs::path>& pictures) {
  std::string text = RIA_VERSION;
  for (const Recognizer* recognizer : recognizers) {
    const IndexHeader header = recognizer->header();
    const Matrix& projection = recognizer->projection();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(projection.data());
    text += fmt::format("\n{} {} {} {}",
                        header.method,
                        header.options,
                        header.weights_sha256,
                        sha256_bytes({bytes, projection.size() * sizeof(float)}));
  }
  return run_fingerprint(std::move(text), pictures);
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
      record_floats_ += static_cast<std::size_t>(recognizers[r]->dim());
      for (const fs::path& picture : pictures) results_[r].names.push_back(name_of(picture));
    }
    finished_.assign(pictures.size(), false);
  }

  std::vector<Descriptions> describe() {
    const Clock::time_point start = Clock::now();
    if (options_.resume) {
      journal_.emplace(fingerprint(recognizers_, pictures_));
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
    const int threads = resolve_threads(options_.num_threads);
    // Too few pictures to give each core its own: all cores work on one picture after the other.
    const int workers = total() < threads ? 1 : threads;
    if (workers == 1) set_thread_cores(threads);
    parallel_for(
        total(),
        workers,
        [this](int i) {
          if (!finished_[i]) describe_one(i);
        },
        options_.stop);
    if (workers == 1) set_thread_cores(0);
    std::sort(failures_.begin(), failures_.end(), [](const Failure& a, const Failure& b) {
      return a.picture < b.picture;
    });
  }

  void restore(const Journal::Record& record) {
    if (record.values.size() != record_floats_) return;
    const float* values = record.values.data();
    for (std::size_t r = 0; r < results_.size(); ++r) {
      Matrix& descriptors = results_[r].descriptors;
      descriptors.row(record.picture) = Eigen::Map<const Vector>(values, descriptors.cols());
      results_[r].image_sizes[record.picture] = record.image_size;
      values += descriptors.cols();
    }
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
    Clock::time_point start = Clock::now();
    const auto lap = [&start] {
      const double spent = seconds_since(start);
      start = Clock::now();
      return spent;
    };
    const Image image = load_image(pictures_[i]);
    const double load = lap();
    std::vector<StageSeconds> costs(recognizers_.size());
    std::vector<Descriptor> descriptors(recognizers_.size());
    for (std::size_t first = 0; first < recognizers_.size(); ++first) {
      if (descriptors[first].size() > 0) continue;
      const Backbone& backbone = recognizers_[first]->backbone();
      StageSeconds spent;
      const Pixels pixels = preprocess(image, recognizers_[first]->preprocessing());
      spent.decode = load + lap();
      const PatchFeatures features = backbone.extract(pixels);
      spent.backbone = lap();
      for (std::size_t r = first; r < recognizers_.size(); ++r) {
        if (&recognizers_[r]->backbone() != &backbone) continue;
        descriptors[r] = recognizers_[r]->aggregator().aggregate(features);
        spent.aggregate = lap();
        costs[r] = spent;
      }
    }
    keep({i, {image.height, image.width}, {}}, descriptors, costs);
  }

  void keep(Journal::Record record,
            const std::vector<Descriptor>& descriptors,
            const std::vector<StageSeconds>& costs) {
    for (std::size_t r = 0; r < descriptors.size(); ++r) {
      results_[r].descriptors.row(record.picture) = descriptors[r];
      results_[r].image_sizes[record.picture] = record.image_size;
      record.values.insert(record.values.end(), descriptors[r].begin(), descriptors[r].end());
    }
    if (journal_) journal_->append(record);
    const std::lock_guard lock(mutex_);
    for (std::size_t r = 0; r < costs.size(); ++r) {
      results_[r].seconds.decode += costs[r].decode;
      results_[r].seconds.backbone += costs[r].backbone;
      results_[r].seconds.aggregate += costs[r].aggregate;
    }
  }

  const std::vector<const Recognizer*>& recognizers_;
  const std::vector<fs::path>& pictures_;
  const RunOptions& options_;
  std::vector<Descriptions> results_;
  std::size_t record_floats_ = 0;
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
  }
  return good;
}

}  // namespace ria
