// SPDX-License-Identifier: MIT
// Fitting a vocabulary: pictures are described a picture a core, what is drawn of their patches is
// held, then clustered.
#include "ria/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "aggregate/features.h"
#include "aggregate/kmeans.h"
#include "pipeline/feature_cache.h"
#include "pipeline/journal.h"
#include "pipeline/over_pictures.h"
#include "pipeline/patch_sample.h"
#include "ria/version.h"
#include "util/hash.h"
#include "util/parallel.h"
#include "util/random.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kWaiting = 12u << 20;  // bytes of records on their way to the disk

/// What is held whatever the patches are.
std::uint64_t fixed_bytes(int clusters, int dim, std::size_t pictures) {
  return kmeans_bytes(clusters, dim) + kWaiting + pictures * (PatchSample::picture_bytes() + 1);
}

/// Patches that fit beside what is held anyway.
std::int64_t capacity(const VocabularyOptions& options, int dim, std::size_t pictures) {
  const std::uint64_t fixed = fixed_bytes(options.clusters, dim, pictures);
  const std::uint64_t patch = PatchSample::patch_bytes(dim);
  const std::uint64_t least = fixed + static_cast<std::uint64_t>(options.clusters) * patch;
  if (options.max_memory < least) {
    throw std::invalid_argument(fmt::format(
        "max_memory is {} bytes, at least {} were expected for {} clusters of {} values and {} "
        "pictures",
        options.max_memory,
        least,
        options.clusters,
        dim,
        pictures));
  }
  return static_cast<std::int64_t>((options.max_memory - fixed) / patch);
}

/// All pictures, or as many as patches fit, evenly spread.
std::vector<int> chosen_pictures(std::size_t count, std::int64_t patches) {
  const std::size_t take = std::min(count, static_cast<std::size_t>(patches));
  std::vector<int> chosen;
  for (std::size_t i = 0; i < take; ++i) chosen.push_back(static_cast<int>(i * count / take));
  return chosen;
}

/// One run of build_vocabulary().
class VocabularyRun {
 public:
  VocabularyRun(const Backbone& backbone,
                const Preprocessing& preprocessing,
                bool normalize_patches,
                const std::vector<fs::path>& pictures,
                const VocabularyOptions& options)
      : backbone_(backbone),
        preprocessing_(preprocessing),
        normalize_patches_(normalize_patches),
        pictures_(pictures),
        options_(options),
        capacity_(capacity(options, backbone.dim(), pictures.size())),
        chosen_(chosen_pictures(pictures.size(), capacity_)),
        sample_(total(), backbone.dim(), capacity_, options.seed),
        finished_(chosen_.size(), 0) {}

  Vocabulary build() {
    if (options_.run.resume) {
      journal_.emplace(fingerprint());
      journal_->take(total(), [this](const Journal::Record& record) { restore(record); });
    }
    describe_all();
    stop_if_asked();
    if (failures_.size() == chosen_.size()) {
      throw std::runtime_error(
          fmt::format("none of {} pictures could be read to fit the vocabulary; the first: {}",
                      chosen_.size(),
                      failures_.empty() ? "there is none" : failures_[0].reason));
    }
    Vocabulary vocabulary = cluster();
    if (journal_) journal_->remove();
    return vocabulary;
  }

 private:
  int total() const { return static_cast<int>(chosen_.size()); }

  const fs::path& picture(int i) const {
    return pictures_[static_cast<std::size_t>(chosen_[static_cast<std::size_t>(i)])];
  }

  /// Whatever decides which patches are drawn. Threads, and what k-means is told, do not.
  std::string fingerprint() const {
    const bool rounded = !options_.run.feature_cache.empty() && !options_.feature_key.empty();
    return run_fingerprint(fmt::format("{} vocabulary {} {} {} {} {} {} {} {} {}",
                                       RIA_VERSION,
                                       backbone_.name(),
                                       backbone_.weights_sha256(),
                                       backbone_.dim(),
                                       to_string(preprocessing_),
                                       normalize_patches_,
                                       options_.seed,
                                       capacity_,
                                       rounded,
                                       features_fingerprint()),
                           pictures_);
  }

  /// Layer, facet, cut and precision are not told by a backbone's name: what it makes of a picture
  /// tells them.
  std::string features_fingerprint() const {
    constexpr int kSide = 64;  // pixels
    Image image{kSide, kSide, std::vector<std::uint8_t>(3 * kSide * kSide)};
    SplitMix64 random(1);
    for (std::uint8_t& value : image.rgb) value = static_cast<std::uint8_t>(random.below(256));
    const Matrix patches = backbone_.extract(preprocess(image, preprocessing_)).patches;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(patches.data());
    return sha256_bytes({bytes, patches.size() * sizeof(float)});
  }

  void describe_all() {
    over_pictures(
        total(),
        options_.run.num_threads,
        [this](int i) {
          if (!finished_[static_cast<std::size_t>(i)]) describe_one(i);
        },
        options_.run.stop);
    std::sort(failures_.begin(), failures_.end(), [](const Failure& a, const Failure& b) {
      return a.picture < b.picture;
    });
  }

  void describe_one(int i) {
    try {
      keep(i, features_of(picture(i)));
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      failures_.push_back(
          {chosen_[static_cast<std::size_t>(i)], picture(i).string(), error.what()});
    }
    const std::lock_guard lock(mutex_);
    ++done_;
    if (options_.run.progress) options_.run.progress(done_, total());
  }

  PatchFeatures features_of(const fs::path& picture) const {
    return cached_features(options_.run.feature_cache,
                           options_.feature_key,
                           picture,
                           [&] {
                             const Image image = load_image(picture, preprocessing_.load);
                             return CachedFeatures{
                                 backbone_.extract(preprocess(image, preprocessing_)),
                                 {image.height, image.width}};
                           })
        .features;
  }

  /// A record holds the number of the picture's patches, then the rows that are drawn.
  void keep(int i, const PatchFeatures& features) {
    const EigenVector norms = inverse_norms(checked_square_sums(features, backbone_.dim()));
    const std::int64_t patches = features.patches.rows();
    Journal::Record record{i, {static_cast<float>(patches)}};
    const std::vector<std::int64_t> drawn = sample_.choose(i, patches);
    record.values.reserve(1 + drawn.size() * static_cast<std::size_t>(backbone_.dim()));
    for (const std::int64_t row : drawn) {
      const float scale = normalize_patches_ ? norms[row] : 1.0f;
      for (const float value : features.patches.row(row)) record.values.push_back(scale * value);
    }
    sample_.add(i, patches, std::span(record.values).subspan(1));
    if (!journal_) return;
    journal_->append(record);
    // Old records hold more than is still wanted of them: they are written anew before the file
    // becomes much larger than the memory it stands for.
    const std::uint64_t held =
        static_cast<std::uint64_t>(capacity_) * PatchSample::patch_bytes(backbone_.dim());
    const std::lock_guard lock(rewrite_mutex_);
    if (journal_->bytes() > 2 * held + kWaiting) rewrite_journal();
  }

  void rewrite_journal() {
    int next = 0;
    journal_->rewrite([&](Journal::Record& record) {
      while (next < total() && sample_.patches_of(next) == 0) ++next;
      if (next == total()) return false;
      record.picture = next;
      record.values = sample_.rows_of(next);
      record.values.insert(record.values.begin(), static_cast<float>(sample_.patches_of(next)));
      ++next;
      return true;
    });
  }

  void restore(const Journal::Record& record) {
    char& finished = finished_[static_cast<std::size_t>(record.picture)];
    if (finished || record.values.empty()) return;
    sample_.add(record.picture,
                static_cast<std::int64_t>(record.values[0]),
                std::span(record.values).subspan(1));
    finished = 1;
    ++done_;
  }

  void stop_if_asked() {
    if (!options_.run.stop.stop_requested()) return;
    if (journal_) journal_->flush();
    throw Interrupted(done_, total());
  }

  Vocabulary cluster() {
    sample_.seal();
    const KMeansOptions how{.max_iterations = options_.max_iterations,
                            .tolerance = options_.tolerance,
                            .num_threads = options_.run.num_threads,
                            .progress = options_.on_iteration,
                            .stop = options_.run.stop};
    KMeans found =
        cosine_kmeans(sample_, choose_rows(sample_, options_.clusters, options_.seed), how);
    if (!found.converged && found.iterations < options_.max_iterations) stop_if_asked();
    Vocabulary out;
    out.centres = std::move(found.centres);
    out.counts = std::move(found.counts);
    out.pictures = static_cast<int>(pictures_.size());
    for (int i = 0; i < total(); ++i) {
      out.patches += sample_.patches_of(i);
      out.pictures_used += sample_.patches_of(i) > 0;
    }
    out.patches_used = sample_.rows();
    out.patches_a_picture = sample_.drawn() ? sample_.quota() : 0;
    out.iterations = found.iterations;
    out.converged = found.converged;
    out.mean_cosine = found.mean_cosine;
    out.failures = failures_;
    out.origin = origin(out);
    return out;
  }

  std::map<std::string, std::string> origin(const Vocabulary& made) const {
    return {{"ria_version", RIA_VERSION},
            {"backbone", backbone_.name()},
            {"weights_sha256", backbone_.weights_sha256()},
            {"normalize_patches", normalize_patches_ ? "true" : "false"},
            {"seed", std::to_string(options_.seed)},
            {"max_memory", std::to_string(options_.max_memory)},
            {"pictures", std::to_string(made.pictures)},
            {"pictures_used", std::to_string(made.pictures_used)},
            {"patches", std::to_string(made.patches)},
            {"patches_used", std::to_string(made.patches_used)},
            {"patches_a_picture", std::to_string(made.patches_a_picture)},
            {"iterations", std::to_string(made.iterations)},
            {"converged", made.converged ? "true" : "false"},
            {"mean_cosine", fmt::format("{:.6f}", made.mean_cosine)}};
  }

  const Backbone& backbone_;
  const Preprocessing& preprocessing_;
  const bool normalize_patches_;
  const std::vector<fs::path>& pictures_;
  const VocabularyOptions& options_;
  const std::int64_t capacity_;    // patches
  const std::vector<int> chosen_;  // places in pictures_
  PatchSample sample_;
  std::optional<Journal> journal_;
  std::vector<char> finished_;  // not vector<bool>: threads read it side by side
  std::mutex mutex_, rewrite_mutex_;
  int done_ = 0;
  std::vector<Failure> failures_;
};

}  // namespace

void VocabularyOptions::validate() const {
  const auto require = [](bool holds, const char* field, auto value, const char* expected) {
    if (!holds)
      throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  require(clusters >= 1 && clusters <= 1'000'000, "clusters", clusters, "from 1 to 1000000");
  require(max_iterations >= 1, "max_iterations", max_iterations, "at least 1");
  require(tolerance >= 0 && std::isfinite(tolerance), "tolerance", tolerance, "a number from 0 up");
}

Vocabulary build_vocabulary(const Backbone& backbone,
                            const Preprocessing& preprocessing,
                            bool normalize_patches,
                            const std::vector<fs::path>& pictures,
                            const VocabularyOptions& options) {
  options.validate();
  if (pictures.empty()) throw std::invalid_argument("no pictures to fit a vocabulary on");
  return VocabularyRun(backbone, preprocessing, normalize_patches, pictures, options).build();
}

}  // namespace ria
