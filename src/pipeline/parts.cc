// SPDX-License-Identifier: MIT
#include "pipeline/parts.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "aggregate/netvlad.h"
#include "head/heads.h"
#include "head/ria_ft.h"
#include "rerank/selavpr.h"
#include "ria/vocabulary.h"
#include "ria/weights.h"
#include "tensor/npy.h"

namespace ria {

namespace {

constexpr char kFromFile[] = "file";  // where a projection or a vocabulary came from

bool reads_projection(const Method& method, const RiaOptions& options) {
  return method.aggregator == "ria" && options.projection != "random" &&
         options.projection != "none" && options.projection != kFromFile &&
         options.projection != "pca" && !options.projection.starts_with("pca:");
}

Matrix read_projection(const std::string& file, int feature_dim) {
  const Tensor tensor = read_npy(file);
  if (tensor.shape.size() != 2 || tensor.shape[0] != feature_dim || tensor.shape[1] < 1 ||
      tensor.shape[1] > feature_dim) {
    throw std::runtime_error(fmt::format(
        "{}: a projection of {} rows and at most as many columns was expected", file, feature_dim));
  }
  return {feature_dim, static_cast<int>(tensor.shape[1]), tensor.floats()};
}

const Matrix& at(const Fitted& fitted, const char* name) {
  static const Matrix none;
  const auto it = fitted.find(name);
  return it == fitted.end() ? none : it->second;
}

struct Head {
  std::string_view aggregator;
  std::unique_ptr<Aggregator> (*read)(const TensorFile&);
};
constexpr Head kHeads[] = {
    {"cosplace", read_cosplace},
    {"netvlad_head", [](const TensorFile& file) { return read_netvlad(file); }},
    {"netvlad_raw", [](const TensorFile& file) { return read_netvlad(file, false); }},
    {"mixvpr", read_mixvpr},
    {"salad", read_salad},
    {"megaloc", read_megaloc},
    {"boq", read_boq},
    {"supervlad", [](const TensorFile& file) { return read_supervlad(file); }},
    {"supervlad_1", [](const TensorFile& file) { return read_supervlad(file, 2); }},
    {"cricavpr", read_cricavpr},
    {"convap", [](const TensorFile& file) { return read_convap(file); }},
    {"apgem", [](const TensorFile& file) { return read_apgem(file); }},
    {"edtformer", read_edtformer},
    {"qaa", [](const TensorFile& file) { return read_qaa(file); }},
    {"selavpr", read_selavpr},
    {"ria_ft", read_ria_ft},
};

std::unique_ptr<Aggregator> read_head(const Method& method, const TensorFile* weights) {
  if (weights == nullptr) {
    throw std::invalid_argument(
        fmt::format("method {} reads its head from its weights: none were given", method.name));
  }
  for (const Head& head : kHeads) {
    if (method.aggregator == head.aggregator) return head.read(*weights);
  }
  throw std::invalid_argument(fmt::format("unknown aggregator '{}'", method.aggregator));
}

}  // namespace

bool wants_pca_projection(const MethodOptions& options) {
  return options.ria.projection == "pca" || options.ria.projection.starts_with("pca:");
}

std::string weights_file(const Method& method, const MethodOptions& options) {
  if (!options.backbone.weights.empty()) return options.backbone.weights;
  if (method.weights.empty() || method.weights == default_weights(method.backbone)) return "";
  return cached_weights(method.weights).string();
}

void adopt_settings(const Method& method, const TensorFile* weights, MethodOptions& options) {
  if (method.aggregator != "ria_ft" || weights == nullptr) return;
  const RiaFtSettings settings = read_ria_ft_settings(*weights);
  BackboneOptions& backbone = options.backbone;
  if (backbone.cut.empty()) backbone.cut = settings.backbone.cut;
  if (!backbone.layer) backbone.layer = settings.backbone.layer;
  if (!backbone.facet) backbone.facet = settings.backbone.facet;
  backbone.final_norm = backbone.final_norm || settings.backbone.final_norm;
  if (!options.sized()) options.image_height = options.image_width = settings.image_size;
}

Fitted read_fitted(const Method& method, int feature_dim, MethodOptions& options) {
  Fitted fitted;
  if (reads_projection(method, options.ria)) {
    fitted[kProjection] = read_projection(options.ria.projection, feature_dim);
    options.ria.projection = kFromFile;
    options.ria.d = fitted[kProjection].cols();
  }
  std::string& vocabulary = options.vlad.vocabulary;
  if (needs_vocabulary(method) && vocabulary != kFromFile && vocabulary != "database") {
    fitted[kCentres] = read_vocabulary(vocabulary, feature_dim);
    vocabulary = kFromFile;
    options.vlad.clusters = fitted[kCentres].rows();
  }
  return fitted;
}

std::unique_ptr<Aggregator> make_head(const Method& method,
                                      const MethodOptions& options,
                                      int feature_dim,
                                      const Fitted& fitted,
                                      const TensorFile* weights,
                                      const Matrix& reading) {
  if (method.aggregator == "riax") return make_riax(feature_dim, options.riax, reading);
  if (method.aggregator == "gem") return make_gem(feature_dim, options.gem);
  if (method.aggregator == "mean") return make_mean(feature_dim, options.gem.normalize_patches);
  const Matrix& centres = at(fitted, kCentres);
  if (method.aggregator == "vlad") {
    return centres.empty() ? nullptr : make_vlad(centres, options.vlad);
  }
  if (method.aggregator == "netvlad") {
    const Matrix& sharpness = at(fitted, kSharpness);
    if (centres.empty() || sharpness.empty()) return nullptr;
    return make_netvlad_from_vocabulary(centres, sharpness(0, 0));
  }
  if (method.aggregator != "ria") return read_head(method, weights);
  const Matrix& projection = at(fitted, kProjection);
  if (wants_pca_projection(options) && projection.empty()) return nullptr;
  return make_ria(feature_dim, options.ria, projection);
}

std::unique_ptr<Reranker> make_reranker(const Method& method,
                                        const MethodOptions& options,
                                        int feature_dim,
                                        const TensorFile* weights) {
  if (options.rerank == "none" || options.rerank.empty()) return nullptr;
  if (options.rerank == "patches") return make_patch_reranker(feature_dim, options.patches);
  if (method.aggregator != "selavpr" || weights == nullptr) {
    throw std::invalid_argument(fmt::format(
        "rerank local: method {} has no local features of its own (use patches)", method.name));
  }
  return read_selavpr_reranker(*weights);
}

Postprocessor make_postprocessor(const Fitted& fitted) {
  const Matrix& mean = at(fitted, kMean);
  if (mean.empty()) return {};
  return {{mean.values().begin(), mean.values().end()}, at(fitted, kDirections)};
}

}  // namespace ria
