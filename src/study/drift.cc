// SPDX-License-Identifier: MIT
// How far a descriptor moves when its picture is changed: 1 - cosine.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <random>

#include "pipeline/journal.h"
#include "ria/version.h"
#include "study/study.h"
#include "util/hash.h"
#include "util/parallel.h"

namespace ria {

namespace {

/// A change of a picture (or, by `feature_scale`, of its features) at one level.
struct Change {
  double level = 0;
  std::function<Image(const Image&, std::uint32_t seed)> apply;
  float feature_scale = 1;
};

/// A row of changes with growing level: one plot.
struct Ladder {
  std::string title, x_label;
  std::vector<Change> changes;
};

Homography rotation(double degrees, const Image& image) {
  const double angle = degrees * std::acos(-1.0) / 180, c = std::cos(angle), s = std::sin(angle);
  const double x = (image.width - 1) / 2.0, y = (image.height - 1) / 2.0;
  return {c, -s, x - c * x + s * y, s, c, y - s * x - c * y, 0, 0, 1};
}

/// Corners move by up to `magnitude` of the sides, each on its own.
Homography random_homography(double magnitude, const Image& image, std::uint32_t seed) {
  std::mt19937 engine(seed);
  const auto moved = [&](double side) {
    return magnitude * side * (2.0 * static_cast<double>(engine()) / 4294967295.0 - 1);
  };
  const double w = image.width - 1, h = image.height - 1;
  const std::array<std::array<double, 2>, 4> from{{{0, 0}, {w, 0}, {w, h}, {0, h}}};
  auto to = from;
  for (auto& [x, y] : to) {
    x += moved(w);
    y += moved(h);
  }
  return homography_of(from, to);
}

Ladder brightness_ladder() {
  Ladder ladder{"Brightness", "brightness removed", {}};
  for (const double removed : {0.2, 0.4, 0.6, 0.8, 0.9}) {
    ladder.changes.push_back({removed, [removed](const Image& image, std::uint32_t) {
                                Image dark = image;
                                for (std::uint8_t& value : dark.rgb) {
                                  value =
                                      static_cast<std::uint8_t>(std::lround(value * (1 - removed)));
                                }
                                return dark;
                              }});
  }
  return ladder;
}

Ladder rotation_ladder() {
  Ladder ladder{"Rotation", "degrees", {}};
  for (const double degrees : {5.0, 10.0, 20.0, 30.0, 45.0}) {
    ladder.changes.push_back({degrees, [degrees](const Image& image, std::uint32_t) {
                                return warp_image(image, rotation(degrees, image));
                              }});
  }
  return ladder;
}

Ladder homography_ladder() {
  Ladder ladder{"Homography", "corner displacement, share of the side", {}};
  for (const double magnitude : {0.02, 0.04, 0.08, 0.12, 0.16, 0.2}) {
    ladder.changes.push_back({magnitude, [magnitude](const Image& image, std::uint32_t seed) {
                                return warp_image(image, random_homography(magnitude, image, seed));
                              }});
  }
  return ladder;
}

/// Features multiplied by a factor: what the paper proves RIA invariant to.
Ladder scale_ladder() {
  Ladder ladder{"Scaled features", "factor", {}};
  for (const float factor : {0.5f, 0.25f, 0.1f}) ladder.changes.push_back({factor, {}, factor});
  return ladder;
}

/// Drift of every method at every change for many pictures.
class Drift {
 public:
  Drift(std::vector<std::string> methods,
        std::vector<Ladder> ladders,
        const Dataset& dataset,
        const StudyOptions& options)
      : methods_(std::move(methods)),
        ladders_(std::move(ladders)),
        options_(options),
        pictures_(some_pictures(dataset, options.pictures)),
        recognizers_(make_recognizers(methods_, options.method)) {
    fit_together(recognizers_, dataset.database, options.evaluate.run);
    for (const Ladder& ladder : ladders_) {
      for (const Change& change : ladder.changes) changes_.push_back(&change);
    }
    drift_.assign(pictures_.size(), {});
  }

  StudyResult measure() {
    Journal journal(fingerprint());
    journal.take(total(), [&](Journal::Record&& record) {
      if (record.values.size() == methods_.size() * changes_.size()) {
        drift_[record.picture] = std::move(record.values);
      }
    });
    std::atomic<int> done = 0;
    parallel_for(
        total(),
        resolve_threads(options_.evaluate.run.num_threads),
        [&](int i) {
          if (drift_[i].empty()) {
            drift_[i] = drift_of(i);
            journal.append({i, {}, drift_[i]});
          }
          const int finished = ++done;
          const std::lock_guard lock(mutex_);
          if (options_.evaluate.run.progress) options_.evaluate.run.progress(finished, total());
        },
        options_.evaluate.run.stop);
    if (options_.evaluate.run.stop.stop_requested() && done < total()) {
      journal.flush();
      throw Interrupted(done, total());
    }
    journal.remove();
    return summary();
  }

 private:
  int total() const { return static_cast<int>(pictures_.size()); }

  std::string fingerprint() const {
    std::string text = fmt::format("drift {}", RIA_VERSION);
    for (const auto& recognizer : recognizers_) {
      const IndexHeader header = recognizer->header();
      text += fmt::format("\n{} {} {}", header.method, header.options, header.weights_sha256);
    }
    for (const Ladder& ladder : ladders_) {
      text += "\n" + ladder.title;
      for (const Change& change : ladder.changes) text += fmt::format(" {}", change.level);
    }
    for (const auto& picture : pictures_) text += "\n" + picture.string();
    return sha256_text(text).substr(0, 32);
  }

  /// [method][change] of one picture.
  std::vector<float> drift_of(int picture) const {
    const Image image = load_image(pictures_[picture]);
    const auto features = features_of(image);
    const std::vector<Descriptor> originals = describe(features);
    std::vector<float> out(methods_.size() * changes_.size());
    for (std::size_t c = 0; c < changes_.size(); ++c) {
      const Change& change = *changes_[c];
      const auto changed =
          change.apply
              ? describe(features_of(change.apply(image, static_cast<std::uint32_t>(picture))))
              : describe(scaled(features, change.feature_scale));
      for (std::size_t m = 0; m < methods_.size(); ++m) {
        const double cosine = originals[m].cast<double>().dot(changed[m].cast<double>());
        out[m * changes_.size() + c] = static_cast<float>(1 - cosine);
      }
    }
    return out;
  }

  using FeatureMap = std::map<const Backbone*, PatchFeatures>;

  /// Methods of one backbone share its features; their pictures are read alike.
  FeatureMap features_of(const Image& image) const {
    FeatureMap features;
    for (const auto& one : recognizers_) {
      PatchFeatures& of_backbone = features[&one->backbone()];
      if (of_backbone.patches.size() > 0) continue;
      of_backbone = one->backbone().extract(preprocess(image, one->preprocessing()));
    }
    return features;
  }

  static FeatureMap scaled(FeatureMap features, float factor) {
    for (auto& [backbone, one] : features) one.patches *= factor;
    return features;
  }

  std::vector<Descriptor> describe(const FeatureMap& features) const {
    std::vector<Descriptor> out;
    for (const auto& one : recognizers_) {
      out.push_back(one->aggregator().aggregate(features.at(&one->backbone())));
    }
    return out;
  }

  StudyResult summary() const {
    StudyResult result;
    std::size_t at = 0;
    for (const Ladder& ladder : ladders_) {
      StudyPlot plot{ladder.title, ladder.x_label, "1 - cosine", {}};
      StudyTable table;
      table.title = fmt::format("{}: mean 1 - cosine over {} pictures", ladder.title, total());
      for (const Change& change : ladder.changes)
        table.columns.push_back(fmt::format("{:g}", change.level));
      for (std::size_t m = 0; m < methods_.size(); ++m) {
        StudyPlot::Series line{methods_[m], {0}, {0}, {}, {}};
        if (ladder.changes[0].feature_scale != 1) line.x[0] = 1;
        table.rows.push_back({methods_[m], {}});
        for (std::size_t c = 0; c < ladder.changes.size(); ++c) {
          const double mean = mean_drift(m, at + c);
          table.rows.back().fields.push_back({fmt::format("{:.3g}", mean), mean, false});
          line.x.push_back(ladder.changes[c].level);
          line.y.push_back(mean);
        }
        plot.series.push_back(std::move(line));
      }
      for (std::size_t c = 0; c < ladder.changes.size(); ++c) mark_best(table, c, false);
      at += ladder.changes.size();
      result.tables.push_back(std::move(table));
      result.plots.push_back(std::move(plot));
    }
    return result;
  }

  double mean_drift(std::size_t method, std::size_t change) const {
    double sum = 0;
    for (const auto& one : drift_) sum += one[method * changes_.size() + change];
    return sum / total();
  }

  std::vector<std::string> methods_;
  std::vector<Ladder> ladders_;
  const StudyOptions& options_;
  std::vector<std::filesystem::path> pictures_;
  std::vector<std::unique_ptr<Recognizer>> recognizers_;
  std::vector<const Change*> changes_;
  std::vector<std::vector<float>> drift_;
  std::mutex mutex_;
};

std::vector<std::string> heads(const StudyOptions& options) {
  const std::string ria = options.backbone + "-ria";
  return {ria,
          ria + ":mapping=log_euclidean",
          options.backbone + "-gem",
          options.backbone + "-mean",
          ria + ":normalize_patches=false",
          ria + ":normalize_patches=false,tau=0,eps=0"};
}

}  // namespace

StudyResult study_drift(const Dataset& dataset, const StudyOptions& options) {
  StudyResult result = Drift(heads(options),
                             {brightness_ladder(), rotation_ladder(), scale_ladder()},
                             dataset,
                             options)
                           .measure();
  result.notes.push_back(
      "A turned picture is filled at its borders by mirroring, so that no black corners are "
      "compared. "
      "The paper compares RIA with MixVPR and SALAD on Pitts30k and Nardo-Air.");
  result.notes.push_back(
      "Scaled features: without tau, eps and patch normalisation a factor leaves RIA's descriptor "
      "as "
      "it is, up to rounding.");
  return result;
}

StudyResult study_homography(const Dataset& dataset, const StudyOptions& options) {
  StudyResult result = Drift(heads(options), {homography_ladder()}, dataset, options).measure();
  result.notes.push_back("Every picture has homographies of its own, the same for every method.");
  return result;
}

}  // namespace ria
