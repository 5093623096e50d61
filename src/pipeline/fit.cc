// SPDX-License-Identifier: MIT
// What a method learns from pictures: directions, a vocabulary, the mean descriptor.
#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "aggregate/features.h"
#include "aggregate/netvlad.h"
#include "pipeline/feature_cache.h"
#include "pipeline/parts.h"
#include "ria/recognizer.h"
#include "ria/vocabulary.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

/// At most `count` of the pictures, evenly spread.
std::vector<fs::path> spread(const std::vector<fs::path>& pictures, std::size_t count) {
  if (pictures.size() <= count) return pictures;
  std::vector<fs::path> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(pictures[i * pictures.size() / count]);
  return chosen;
}

/// A hundred of the patches, evenly spread, behind the samples so far.
void append_some(const Matrix& patches, Matrix& samples) {
  const Eigen::Index count = std::min<Eigen::Index>(100, patches.rows()), begin = samples.rows();
  samples.conservativeResize(begin + count, Eigen::NoChange);
  for (Eigen::Index i = 0; i < count; ++i) {
    samples.row(begin + i) = patches.row(i * patches.rows() / count);
  }
}

/// Shows the features of one picture after the other, all cores on each. Pictures that cannot be
/// read are left out here: describe() reports them.
void visit_features(const Recognizer& recognizer,
                    const std::vector<fs::path>& pictures,
                    const RunOptions& run,
                    const std::function<void(const PatchFeatures&)>& visit) {
  int done = 0;
  std::string reason;
  for (const fs::path& picture : pictures) {
    if (run.stop.stop_requested()) throw Interrupted(done, static_cast<int>(pictures.size()));
    try {
      visit(cached_features(run.feature_cache, recognizer.feature_key(), picture, [&] {
              const Image image = load_image(picture);
              return CachedFeatures{
                  recognizer.backbone().extract(preprocess(image, recognizer.preprocessing())),
                  {image.height, image.width}};
            }).features);
    } catch (const std::runtime_error& error) {
      if (reason.empty()) reason = error.what();
      continue;
    }
    if (run.progress) run.progress(++done, static_cast<int>(pictures.size()));
  }
  if (done > 0 || reason.empty()) return;
  throw std::runtime_error(fmt::format(
      "none of {} pictures could be read to fit on; the first: {}", pictures.size(), reason));
}

}  // namespace

void Recognizer::fit(const std::vector<fs::path>& pictures, const RunOptions& run) {
  const auto other =
      options_.fit_folder.empty() ? std::vector<fs::path>{} : list_pictures(options_.fit_folder);
  const auto& source = other.empty() ? pictures : other;
  if (!aggregator_ && method_->aggregator == "ria") fit_projection(pictures, run);
  if (!aggregator_ && needs_vocabulary(*method_)) fit_vocabulary(source, run);
  if (!other.empty() && options_.post.any() && postprocessor_.empty()) {
    Descriptions described = describe(other, run);
    finish(described, static_cast<int>(other.size()));
  }
}

void fit_together(const std::vector<std::unique_ptr<Recognizer>>& recognizers,
                  const std::vector<fs::path>& pictures,
                  const RunOptions& run) {
  std::map<std::string, const Matrix*> vocabularies;
  for (const auto& one : recognizers) {
    const MethodOptions& o = one->options_;
    const bool needs = needs_vocabulary(*one->method_);
    const std::string key = fmt::format("{} {} {} {} {}",
                                        one->feature_key(),
                                        o.vlad.clusters,
                                        o.ria.seed,
                                        o.vlad.normalize_patches,
                                        o.fit_folder);
    const auto known = vocabularies.find(key);
    if (needs && !one->aggregator_ && known != vocabularies.end()) {
      one->fitted_[kCentres] = *known->second;
    }
    one->fit(pictures, run);
    if (needs) vocabularies.emplace(key, &one->fitted_.at(kCentres));
  }
}

void Recognizer::fit_projection(const std::vector<fs::path>& pictures, const RunOptions& run) {
  constexpr std::size_t kPictures = 200;  // some 100,000 patches: far more than directions
  const std::string& asked = options_.ria.projection;
  const std::string folder = asked == "pca" ? options_.fit_folder : asked.substr(4);  // pca:FOLDER
  PcaFitter fitter(backbone_->dim());
  visit_features(*this,
                 spread(folder.empty() ? pictures : list_pictures(folder), kPictures),
                 run,
                 [&](const PatchFeatures& features) {
                   fitter.add(features.patches, options_.ria.normalize_patches);
                 });
  fitted_[kProjection] = fitter.fit(options_.ria.d);
  options_.ria.projection = "pca";
  aggregator_ = make_head(*method_, options_, backbone_->dim(), fitted_, nullptr);
  fold();
}

void Recognizer::fit_vocabulary(const std::vector<fs::path>& pictures, const RunOptions& run) {
  if (fitted_.count(kCentres) == 0) {
    VocabularyOptions options;
    options.clusters = options_.vlad.clusters;
    options.seed = options_.ria.seed;
    options.run = run;
    options.feature_key = feature_key();
    fitted_[kCentres] =
        build_vocabulary(
            *backbone_, preprocessing_, options_.vlad.normalize_patches, pictures, options)
            .centres;
  }
  if (method_->aggregator == "netvlad") {
    constexpr std::size_t kPictures = 50;
    Matrix samples(0, backbone_->dim());
    visit_features(*this, spread(pictures, kPictures), run, [&](const PatchFeatures& features) {
      append_some(normalized_rows(features.patches), samples);
    });
    const double alpha = netvlad_alpha(samples, fitted_[kCentres]);
    fitted_[kSharpness] = Matrix::Constant(1, 1, static_cast<float>(alpha));
  }
  aggregator_ = make_head(*method_, options_, backbone_->dim(), fitted_, nullptr);
}

void Recognizer::finish(Descriptions& described, int database) {
  if (!options_.post.any() || !postprocessor_.empty()) return;
  std::vector<char> bad(described.names.size(), 0);
  for (const Failure& failure : described.failures) bad[failure.picture] = 1;
  std::vector<int> good;
  for (int i = 0; i < database; ++i) {
    if (!bad[i]) good.push_back(i);
  }
  postprocessor_ =
      Postprocessor::fit(Matrix(described.descriptors(good, Eigen::all)), options_.post);
  fitted_[kMean] = postprocessor_.mean().transpose();
  if (postprocessor_.directions().size() > 0) {
    fitted_[kDirections] = postprocessor_.directions();
  }
  described.descriptors = postprocessor_.apply(described.descriptors);
  for (const Failure& failure : described.failures) {
    described.descriptors.row(failure.picture).setZero();
  }
}

}  // namespace ria
