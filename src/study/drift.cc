// SPDX-License-Identifier: MIT
// How far a descriptor moves when its picture is changed: 1 - cosine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "ria/eigen.h"
#include "ria/version.h"
#include "study/changes.h"
#include "study/per_picture.h"
#include "study/study.h"

namespace ria {

namespace {

/// Drift of every method at every change for many pictures.
class Drift {
 public:
  Drift(std::vector<RecallRow> rows,
        std::vector<Ladder> ladders,
        const Dataset& dataset,
        const StudyOptions& options)
      : rows_(std::move(rows)),
        ladders_(std::move(ladders)),
        options_(options),
        pictures_(some_pictures(dataset, options.pictures)) {
    std::vector<std::string> methods;
    for (const RecallRow& row : rows_) methods.push_back(row.method);
    recognizers_ = make_recognizers(methods, options.method);
    fit_together(recognizers_, dataset.database, options.evaluate.run);
    for (const Ladder& ladder : ladders_) {
      for (const Change& change : ladder.changes) changes_.push_back(&change);
    }
  }

  StudyResult measure() {
    std::size_t count = rows_.size() * changes_.size();
    for (const auto& one : recognizers_) count += static_cast<std::size_t>(one->aggregator().dim());
    PictureValues measured = measure_pictures(
        pictures_, what(), count, options_.evaluate.run, [this](int i) { return drift_of(i); });
    measured_ = std::move(measured.values);
    StudyResult result;
    result.failures = std::move(measured.failures);
    const std::vector<double> ones(rows_.size(), 1), distances = distances_of_pictures();
    std::size_t first = 0;
    for (const Ladder& ladder : ladders_) {
      add_ladder(ladder, first, ones, {"mean 1 - cosine", "1 - cosine"}, result);
      // Scaled features are a proof's matter: they drift by nothing or by rounding.
      if (ladder.changes[0].apply) {
        add_ladder(ladder,
                   first,
                   distances,
                   {"share of the distance of two pictures", "share of that of two pictures"},
                   result);
      }
      first += ladder.changes.size();
    }
    return result;
  }

 private:
  /// All that decides the figures but the pictures.
  std::string what() const {
    std::string text = fmt::format("drift {}", RIA_VERSION);
    for (const auto& recognizer : recognizers_) {
      const MapHeader header = recognizer->header();
      text += fmt::format("\n{} {} {}", header.method, header.options, header.weights_sha256);
    }
    for (const Ladder& ladder : ladders_) {
      text += "\n" + ladder.title;
      for (const Change& change : ladder.changes) text += fmt::format(" {}", change.level);
    }
    return text;
  }

  /// [method][change] of one picture, then its descriptors, one method after the other.
  std::vector<float> drift_of(int picture) const {
    const Image image = load_image(pictures_[picture], recognizers_.front()->preprocessing().load);
    const auto features = features_of(image);
    const std::vector<Descriptor> originals = describe(features);
    std::vector<float> out(rows_.size() * changes_.size());
    for (std::size_t c = 0; c < changes_.size(); ++c) {
      const Change& change = *changes_[c];
      const auto changed =
          change.apply
              ? describe(features_of(change.apply(image, static_cast<std::uint32_t>(picture))))
              : describe(scaled(features, change.feature_scale));
      for (std::size_t m = 0; m < rows_.size(); ++m) {
        // 1 - cosine of unit vectors; so written, that of equal ones is 0 without rounding.
        const double squared =
            (as_eigen(originals[m]).cast<double>() - as_eigen(changed[m]).cast<double>())
                .squaredNorm();
        out[m * changes_.size() + c] = static_cast<float>(squared / 2);
      }
    }
    for (const Descriptor& one : originals) out.insert(out.end(), one.begin(), one.end());
    return out;
  }

  /// Mean 1 - cosine of two different pictures, for every method.
  std::vector<double> distances_of_pictures() const {
    const auto n = static_cast<double>(measured_.size());
    std::vector<double> distances;
    std::size_t at = rows_.size() * changes_.size();
    for (const auto& recognizer : recognizers_) {
      // |sum|^2 holds every pair twice, and every unit vector with itself.
      EigenVectorD sum = EigenVectorD::Zero(recognizer->aggregator().dim());
      double own = 0;
      for (const auto& one : measured_) {
        const EigenVectorD v =
            as_eigen(one).segment(static_cast<Eigen::Index>(at), sum.size()).cast<double>();
        sum += v;
        own += v.squaredNorm();
      }
      at += static_cast<std::size_t>(sum.size());
      distances.push_back(n > 1 ? 1 - (sum.squaredNorm() - own) / (n * (n - 1)) : 1);
    }
    return distances;
  }

  using FeatureMap = std::map<const Backbone*, PatchFeatures>;

  /// Methods of one backbone share its features; their pictures are read alike.
  FeatureMap features_of(const Image& image) const {
    FeatureMap features;
    for (const auto& one : recognizers_) {
      PatchFeatures& of_backbone = features[&one->backbone()];
      if (!of_backbone.patches.empty()) continue;
      of_backbone = one->backbone().extract(preprocess(image, one->preprocessing()));
    }
    return features;
  }

  static FeatureMap scaled(FeatureMap features, float factor) {
    for (auto& [backbone, one] : features) as_eigen(one.patches) *= factor;
    return features;
  }

  std::vector<Descriptor> describe(const FeatureMap& features) const {
    std::vector<Descriptor> out;
    for (const auto& one : recognizers_) {
      out.push_back(one->aggregator().aggregate(features.at(&one->backbone())));
    }
    return out;
  }

  struct Labels {
    const char *table, *axis;
  };

  /// A table and a plot of changes, the first of which is that of column `first`, in units of each
  /// method's own.
  void add_ladder(const Ladder& ladder,
                  std::size_t first,
                  const std::vector<double>& units,
                  const Labels& labels,
                  StudyResult& result) const {
    StudyPlot plot{ladder.title, ladder.x_label, labels.axis, {}};
    StudyTable table;
    table.title = fmt::format(
        "{}: {} by {}, {} pictures", ladder.title, labels.table, ladder.x_label, measured_.size());
    for (const Change& change : ladder.changes) {
      table.columns.push_back(fmt::format("{:g}", change.level));
    }
    for (std::size_t m = 0; m < rows_.size(); ++m) {
      StudyPlot::Series line{rows_[m].name, {ladder.unchanged}, {0}, {0}, {0}};
      table.rows.push_back({rows_[m].name, {}});
      for (std::size_t c = 0; c < ladder.changes.size(); ++c) {
        const auto [mean, error] = mean_and_error(m * changes_.size() + first + c);
        const double shown = mean / units[m], half = 1.96 * error / units[m];
        table.rows.back().fields.push_back(number_field(shown, "{:.3g}"));
        line.x.push_back(ladder.changes[c].level);
        line.y.push_back(shown);
        line.low.push_back(std::max(0.0, shown - half));
        line.high.push_back(shown + half);
      }
      plot.series.push_back(std::move(line));
    }
    for (std::size_t c = 0; c < ladder.changes.size(); ++c) mark_best(table, c, false);
    result.tables.push_back(std::move(table));
    result.plots.push_back(std::move(plot));
  }

  /// Over the pictures: the mean of a value and its standard error.
  std::array<double, 2> mean_and_error(std::size_t value) const {
    const auto n = static_cast<double>(measured_.size());
    double sum = 0, squares = 0;
    for (const auto& one : measured_) sum += one[value];
    const double mean = sum / n;
    for (const auto& one : measured_) squares += (one[value] - mean) * (one[value] - mean);
    return {mean, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0};
  }

  std::vector<RecallRow> rows_;
  std::vector<Ladder> ladders_;
  const StudyOptions& options_;
  std::vector<std::filesystem::path> pictures_;
  std::vector<std::unique_ptr<Recognizer>> recognizers_;
  std::vector<const Change*> changes_;
  std::vector<std::vector<float>> measured_;  // of each picture, see drift_of()
};

constexpr const char* kUnits =
    "1 - cosine says little across methods: descriptors of positive features are alike for all "
    "pictures. The second table and plot divide it by its mean over pairs of different pictures: "
    "at "
    "1 a changed picture is as far from itself as from any other.";

/// The heads behind the backbone asked for, and the systems the paper compares with whose weights
/// are here.
std::vector<RecallRow> compared(const StudyOptions& options, std::vector<std::string>& notes) {
  const std::string ria = options.backbone + "-ria";
  std::vector<RecallRow> rows{{"RIA", ria},
                              {"RIA, log-Euclidean", ria + ":mapping=log_euclidean"},
                              {"GeM", options.backbone + "-gem"},
                              {"mean", options.backbone + "-mean"}};
  for (const RecallRow& system :
       {RecallRow{"MixVPR", "mixvpr-4096"}, RecallRow{"SALAD", "salad"}}) {
    const std::string why = missing_weights(system.method, options);
    if (why.empty())
      rows.push_back(system);
    else
      notes.push_back(fmt::format("{} was left out: {}", system.method, why));
  }
  return rows;
}

}  // namespace

StudyResult study_drift(const Dataset& dataset, const StudyOptions& options) {
  std::vector<std::string> notes{
      "A turned picture is filled at its borders by mirroring, so that no black corners are "
      "compared.",
      "The paper's figure 3 compares RIA with MixVPR and SALAD on Pitts30k and Nardo-Air and gives "
      "no numbers. Its proof takes darkening as a factor on the features; the last table is of "
      "such "
      "a factor. It leaves RIA as it is without tau and eps: exactly by a power of two, else up to "
      "rounding. Patches of length one take any factor out before.",
      kUnits,
      "Bands: 95 % of the mean."};
  std::vector<RecallRow> rows = compared(options, notes);
  const std::string bare = options.backbone + "-ria:normalize_patches=false";
  rows.push_back({"RIA, patches of any length", bare});
  rows.push_back({"RIA, patches of any length, no tau, no eps", bare + ",tau=0,eps=0"});
  StudyResult result = Drift(std::move(rows),
                             {brightness_ladder(), rotation_ladder(), scale_ladder()},
                             dataset,
                             options)
                           .measure();
  result.notes = std::move(notes);
  return result;
}

StudyResult study_homography(const Dataset& dataset, const StudyOptions& options) {
  std::vector<std::string> notes{
      "Every picture has homographies of its own, the same for every method. Borders are mirrored.",
      "The paper's figure compares RIA with MixVPR and SALAD on four of its sets and gives no "
      "numbers.",
      kUnits,
      "Bands: 95 % of the mean."};
  const std::vector<RecallRow> rows = compared(options, notes);
  StudyResult result = Drift(rows, {homography_ladder()}, dataset, options).measure();
  result.notes = std::move(notes);
  return result;
}

}  // namespace ria
