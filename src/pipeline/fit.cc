// SPDX-License-Identifier: MIT
// What a method learns from pictures: directions, a vocabulary, the mean descriptor.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "aggregate/features.h"
#include "aggregate/netvlad.h"
#include "pipeline/feature_cache.h"
#include "pipeline/maker.h"
#include "pipeline/recognizer_parts.h"
#include "ria/eigen.h"
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
void append_some(const EigenMatrix& patches, EigenMatrix& samples) {
  const Eigen::Index count = std::min<Eigen::Index>(100, patches.rows()), begin = samples.rows();
  samples.conservativeResize(begin + count, Eigen::NoChange);
  for (Eigen::Index i = 0; i < count; ++i) {
    samples.row(begin + i) = patches.row(i * patches.rows() / count);
  }
}

/// Shows the features of one picture after the other, all cores on each. Pictures that cannot be
/// read are left out here: describe() reports them.
void visit_features(const RecognizerParts& parts,
                    const std::vector<fs::path>& pictures,
                    const RunOptions& run,
                    const std::function<void(const PatchFeatures&)>& visit) {
  int done = 0;
  std::string reason;
  for (const fs::path& picture : pictures) {
    if (run.stop.stop_requested()) throw Interrupted(done, static_cast<int>(pictures.size()));
    try {
      visit(cached_features(run.feature_cache, parts.feature_key(), picture, [&] {
              const Image image = load_image(picture, parts.preprocessing.load);
              return CachedFeatures{parts.backbone->extract(preprocess(image, parts.preprocessing)),
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
  const std::string& folder = options().fit_folder;
  const auto other = folder.empty() ? std::vector<fs::path>{} : list_pictures(folder);
  const auto& source = other.empty() ? pictures : other;
  if (!parts_->aggregator && method().aggregator == "ria") parts_->fit_projection(pictures, run);
  if (!parts_->aggregator && needs_vocabulary(method())) parts_->fit_vocabulary(source, run);
  if (!other.empty() && options().post.any() && postprocessor().empty()) {
    Descriptions described = describe(other, run);
    finish(described, static_cast<int>(other.size()));
  }
}

void fit_together(const std::vector<std::unique_ptr<Recognizer>>& recognizers,
                  const std::vector<fs::path>& pictures,
                  const RunOptions& run) {
  std::map<std::string, const Matrix*> vocabularies;
  for (const auto& one : recognizers) {
    const MethodOptions& o = one->options();
    const bool needs = needs_vocabulary(one->method());
    const std::string key = fmt::format("{} {} {} {} {}",
                                        one->feature_key(),
                                        o.vlad.clusters,
                                        o.ria.seed,
                                        o.vlad.normalize_patches,
                                        o.fit_folder);
    const auto known = vocabularies.find(key);
    if (needs && known != vocabularies.end())
      RecognizerMaker::give_vocabulary(*known->second, *one);
    one->fit(pictures, run);
    if (needs) vocabularies.emplace(key, &one->fitted().at(kCentres));
  }
}

void RecognizerParts::fit_projection(const std::vector<fs::path>& pictures, const RunOptions& run) {
  constexpr std::size_t kPictures = 200;  // some 100,000 patches: far more than directions
  const std::string& asked = options.ria.projection;
  const std::string folder = asked == "pca" ? options.fit_folder : asked.substr(4);  // pca:FOLDER
  PcaFitter fitter(backbone->dim());
  visit_features(*this,
                 spread(folder.empty() ? pictures : list_pictures(folder), kPictures),
                 run,
                 [&](const PatchFeatures& features) {
                   fitter.add(features.patches, options.ria.normalize_patches);
                 });
  fitted[kProjection] = fitter.fit(options.ria.d);
  options.ria.projection = "pca";
  aggregator = make_head(*method, options, backbone->dim(), fitted, nullptr);
  fold();
}

void RecognizerParts::fit_vocabulary(const std::vector<fs::path>& pictures, const RunOptions& run) {
  if (fitted.count(kCentres) == 0) {
    VocabularyOptions asked;
    asked.clusters = options.vlad.clusters;
    asked.seed = options.ria.seed;
    asked.run = run;
    asked.feature_key = feature_key();
    fitted[kCentres] =
        build_vocabulary(*backbone, preprocessing, options.vlad.normalize_patches, pictures, asked)
            .centres;
  }
  if (method->aggregator == "netvlad") {
    constexpr std::size_t kPictures = 50;
    EigenMatrix samples(0, backbone->dim());
    visit_features(*this, spread(pictures, kPictures), run, [&](const PatchFeatures& features) {
      append_some(normalized_rows(as_eigen(features.patches)), samples);
    });
    const double alpha = netvlad_alpha(samples, fitted[kCentres]);
    fitted[kSharpness] = Matrix(1, 1, static_cast<float>(alpha));
  }
  aggregator = make_head(*method, options, backbone->dim(), fitted, nullptr);
}

void Recognizer::finish(Descriptions& described, int database) {
  if (!options().post.any() || !postprocessor().empty()) return;
  std::vector<char> bad(described.names.size(), 0);
  for (const Failure& failure : described.failures) bad[failure.picture] = 1;
  std::vector<int> good;
  for (int i = 0; i < database; ++i) {
    if (!bad[i]) good.push_back(i);
  }
  Matrix& all = described.descriptors;
  const Postprocessor fitted =
      Postprocessor::fit(to_matrix(as_eigen(all)(good, Eigen::all)), options().post);
  parts_->postprocessor = fitted;
  parts_->fitted[kMean] = Matrix(1, static_cast<int>(fitted.mean().size()), fitted.mean());
  if (!fitted.directions().empty()) parts_->fitted[kDirections] = fitted.directions();
  all = fitted.apply(all);
  for (const Failure& failure : described.failures) {
    std::ranges::fill(all.row(failure.picture), 0.0f);
  }
}

}  // namespace ria
