// SPDX-License-Identifier: MIT
// Many pictures at once: each thread takes a picture through all stages on one core, so decoding,
// network and head of different pictures overlap and no stage waits for another.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "pipeline/feature_cache.h"
#include "pipeline/journal.h"
#include "pipeline/loader.h"
#include "pipeline/over_pictures.h"
#include "ria/recognizer.h"
#include "ria/version.h"
#include "util/hash.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

/// The run's name: what is described, with what.
std::string fingerprint(const std::vector<const Recognizer*>& recognizers,
                        const std::vector<fs::path>& pictures,
                        const RunOptions& options) {
  std::string text = fmt::format(
      "{}{}", RIA_VERSION, options.feature_cache.empty() ? "" : " with features of half precision");
  for (const Recognizer* recognizer : recognizers) {
    const MapHeader header = recognizer->header();
    text += fmt::format("\n{} {} {}", header.method, header.options, header.weights_sha256);
    if (recognizer->options().cross_image > 1) text += fmt::format(" split {}", options.split);
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
  std::array<int, 2> image_size{};  ///< height, width as it reads the file
  PackedLocalFeatures local;
  StageSeconds cost;
};

/// Local features as floats of a journal's record: sizes, then the bytes, four in a float.
void append_local(const PackedLocalFeatures& local, std::vector<float>& values) {
  for (const int size : {local.dim,
                         local.grid_height,
                         local.grid_width,
                         static_cast<int>(local.bytes.size() >> 16),
                         static_cast<int>(local.bytes.size() & 0xffff)}) {
    values.push_back(static_cast<float>(size));
  }
  const std::size_t begin = values.size();
  values.resize(begin + (local.bytes.size() + 3) / 4);
  if (!local.bytes.empty()) {
    std::memcpy(&values[begin], local.bytes.data(), local.bytes.size());
  }
}

/// The inverse; false if there are too few values.
bool take_local(std::span<const float>& values, PackedLocalFeatures& local) {
  constexpr std::size_t kSizes = 5;
  if (values.size() < kSizes) return false;
  local.dim = static_cast<int>(values[0]);
  local.grid_height = static_cast<int>(values[1]);
  local.grid_width = static_cast<int>(values[2]);
  const std::size_t bytes =
      (static_cast<std::size_t>(values[3]) << 16) + static_cast<std::size_t>(values[4]);
  values = values.subspan(kSizes);
  const std::size_t floats = (bytes + 3) / 4;
  if (values.size() < floats) return false;
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  local.bytes.assign(first, first + bytes);
  values = values.subspan(floats);
  return true;
}

/// What all recognisers make of one picture.
struct Seen {
  int picture = 0;
  std::vector<Described> all;
  std::map<std::size_t, PatchFeatures> features;  ///< of recognisers that compare pictures
};

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
      results_[r].descriptors = Matrix(total(), recognizers[r]->dim());
      results_[r].image_sizes.resize(pictures.size());
      if (recognizers[r]->reranker() != nullptr) results_[r].locals.resize(pictures.size());
      for (const fs::path& picture : pictures) results_[r].names.push_back(name_of(picture));
    }
    finished_.assign(pictures.size(), false);
    make_groups();
  }

  std::vector<Descriptions> describe() {
    Stopwatch watch;
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
    const double wall = watch.seconds();
    for (Descriptions& result : results_) {
      result.failures = failures_;
      result.seconds.wall = wall;
    }
    return std::move(results_);
  }

 private:
  struct Group {
    int first, end;  // pictures
  };

  std::string name_of(const fs::path& picture) const {
    if (options_.names_relative_to.empty()) return picture.string();
    return picture.lexically_proximate(options_.names_relative_to).generic_string();
  }

  int total() const { return static_cast<int>(pictures_.size()); }

  /// Pictures that are described together: as many as all cross-image encoders ask for.
  void make_groups() {
    int size = 1;
    for (const Recognizer* one : recognizers_) size = std::lcm(size, together(*one));
    const int split = std::clamp(options_.split, 0, total());
    for (int first = 0; first < total();) {
      const int end = first < split ? split : total();
      groups_.push_back({first, std::min(first + size, end)});
      first = groups_.back().end;
    }
  }

  static int together(const Recognizer& recognizer) {
    return std::max(1, recognizer.options().cross_image);
  }

  void run_all() {
    over_pictures(
        static_cast<int>(groups_.size()),
        options_.num_threads,
        [this](int g) { describe_group(groups_[g]); },
        options_.stop);
    std::sort(failures_.begin(), failures_.end(), [](const Failure& a, const Failure& b) {
      return a.picture < b.picture;
    });
  }

  void restore(const Journal::Record& record) {
    std::span<const float> values = record.values;
    std::vector<Described> all(results_.size());
    for (std::size_t r = 0; r < results_.size(); ++r) {
      const int dim = results_[r].descriptors.cols();
      if (std::ssize(values) < dim + 2) return;
      all[r].descriptor.assign(values.begin(), values.begin() + dim);
      all[r].image_size = {static_cast<int>(values[dim]), static_cast<int>(values[dim + 1])};
      values = values.subspan(dim + 2);
      if (!results_[r].locals.empty() && !take_local(values, all[r].local)) return;
    }
    if (!values.empty()) return;
    put(record.picture, all);
    if (!finished_[record.picture]) ++done_;
    finished_[record.picture] = true;
  }

  void describe_group(const Group& group) {
    const auto begin = finished_.begin();
    if (std::all_of(begin + group.first, begin + group.end, [](char done) { return done != 0; })) {
      return;
    }
    std::vector<Seen> seen;
    for (int i = group.first; i < group.end; ++i) {
      attempt([&] { seen.push_back(look_at(i)); }, i, i + 1);
    }
    for (std::size_t r = 0; r < recognizers_.size(); ++r) {
      const int step = together(*recognizers_[r]);
      for (int first = group.first; step > 1 && first < group.end; first += step) {
        const int end = std::min(first + step, group.end);
        attempt([&] { compare(seen, r, first, end); }, first, end);
      }
    }
    for (Seen& one : seen) {
      const bool whole = std::none_of(
          one.all.begin(), one.all.end(), [](const Described& d) { return d.descriptor.empty(); });
      if (whole && !finished_[one.picture]) keep({one.picture, {}}, one.all);
    }
    const std::lock_guard lock(mutex_);
    for (int i = group.first; i < group.end; ++i) {
      if (finished_[i]) continue;
      ++done_;
      if (options_.progress) options_.progress(done_, total());
    }
  }

  /// What goes wrong is a failure of the pictures from `first` to `end`.
  template <typename Action>
  void attempt(Action action, int first, int end) {
    try {
      action();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      for (int i = first; i < end; ++i) {
        if (finished_[i] || failed_.count(i) != 0) continue;
        failed_.insert(i);
        failures_.push_back({i, pictures_[i].string(), error.what()});
      }
    }
  }

  /// What one picture costs each recogniser: reading it and the backbone are counted for all that
  /// share them, so that every method shows its own price.
  Seen look_at(int i) {
    Loader loader(pictures_[i]);
    Seen seen{i, std::vector<Described>(recognizers_.size()), {}};
    std::vector<char> done(recognizers_.size(), 0);
    for (std::size_t first = 0; first < recognizers_.size(); ++first) {
      if (done[first]) continue;
      const Recognizer& owner = *recognizers_[first];
      StageSeconds spent;
      const PatchFeatures features = features_of(owner, loader, spent);
      for (std::size_t r = first; r < recognizers_.size(); ++r) {
        const Recognizer& one = *recognizers_[r];
        if (&one.backbone() != &owner.backbone() || one.preprocessing() != owner.preprocessing()) {
          continue;
        }
        Stopwatch watch;
        Described& described = seen.all[r];
        if (together(one) > 1) {
          seen.features[r] = features;
        } else {
          described.descriptor = one.postprocessor().apply(one.aggregator().aggregate(features));
        }
        spent.aggregate = watch.seconds();
        if (one.reranker() != nullptr) described.local = pack(one.reranker()->extract(features));
        spent.local = watch.seconds();
        described.image_size = loader.image_size();
        described.cost = spent;
        done[r] = 1;
      }
    }
    return seen;
  }

  /// The pictures from `first` to `end` that could be read, through a cross-image encoder.
  void compare(std::vector<Seen>& seen, std::size_t r, int first, int end) const {
    std::vector<Described*> described;
    std::vector<PatchFeatures> features;
    for (Seen& one : seen) {
      if (one.picture < first || one.picture >= end) continue;
      described.push_back(&one.all[r]);
      features.push_back(std::move(one.features.at(r)));
    }
    if (features.empty()) return;
    Stopwatch watch;
    const Recognizer& recognizer = *recognizers_[r];
    const auto descriptors = recognizer.aggregator().aggregate_together(features);
    const double share = watch.seconds() / static_cast<double>(features.size());
    for (std::size_t i = 0; i < described.size(); ++i) {
      described[i]->descriptor = recognizer.postprocessor().apply(descriptors[i]);
      described[i]->cost.aggregate += share;
    }
  }

  /// From the cache, or from the network and into the cache.
  PatchFeatures features_of(const Recognizer& recognizer, Loader& loader, StageSeconds& spent) {
    Stopwatch watch;
    CachedFeatures found =
        cached_features(options_.feature_cache, recognizer.feature_key(), loader.file(), [&] {
          const Pixels pixels =
              preprocess(loader.image(recognizer.preprocessing().load), recognizer.preprocessing());
          spent.decode = loader.seconds() + watch.seconds();
          CachedFeatures made{recognizer.backbone().extract(pixels), loader.image_size()};
          spent.backbone = watch.seconds();
          return made;
        });
    if (spent.backbone == 0) spent.decode = watch.seconds();  // what reading the cache took
    loader.set_image_size(found.image_size);
    return std::move(found.features);
  }

  void put(int picture, std::vector<Described>& all) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      std::ranges::copy(all[r].descriptor, results_[r].descriptors.row(picture).begin());
      results_[r].image_sizes[picture] = all[r].image_size;
      if (!results_[r].locals.empty()) results_[r].locals[picture] = std::move(all[r].local);
    }
  }

  void keep(Journal::Record record, std::vector<Described>& all) {
    for (std::size_t r = 0; journal_ && r < all.size(); ++r) {
      const Descriptor& descriptor = all[r].descriptor;
      record.values.insert(record.values.end(), descriptor.begin(), descriptor.end());
      for (const int side : all[r].image_size) record.values.push_back(static_cast<float>(side));
      if (!results_[r].locals.empty()) append_local(all[r].local, record.values);
    }
    if (journal_) journal_->append(record);
    put(record.picture, all);
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
  std::vector<Group> groups_;
  std::optional<Journal> journal_;
  std::vector<char> finished_;  // not vector<bool>: threads read it side by side
  std::mutex mutex_;
  int done_ = 0;
  std::vector<Failure> failures_;
  std::set<int> failed_;  // the pictures of failures_
};

}  // namespace

std::vector<Descriptions> describe_together(const std::vector<const Recognizer*>& recognizers,
                                            const std::vector<fs::path>& pictures,
                                            const RunOptions& run) {
  return Run(recognizers, pictures, run).describe();
}

Interrupted::Interrupted(int finished, int all, const char* of)
    : std::runtime_error(fmt::format("interrupted after {} of {} {}", finished, all, of)),
      done(finished),
      total(all) {}

Interrupted::~Interrupted() = default;

Descriptions Descriptions::without_failures() const {
  std::vector<char> bad(names.size(), 0);
  for (const Failure& failure : failures) bad[failure.picture] = 1;
  Descriptions good;
  good.descriptors.resize(descriptors.rows() - static_cast<int>(failures.size()),
                          descriptors.cols());
  good.seconds = seconds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (bad[i]) continue;
    std::ranges::copy(descriptors.row(static_cast<int>(i)),
                      good.descriptors.row(static_cast<int>(good.names.size())).begin());
    good.names.push_back(names[i]);
    good.image_sizes.push_back(image_sizes[i]);
    if (!locals.empty()) good.locals.push_back(locals[i]);
  }
  return good;
}

}  // namespace ria
