// SPDX-License-Identifier: MIT
#include "ria/recognizer.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "backbone/backbone_weights.h"
#include "head/ria_ft.h"
#include "pipeline/maker.h"
#include "pipeline/recognizer_parts.h"
#include "ria/version.h"
#include "tensor/tensor.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

/// Versions that differ in more than their last number may make other descriptors.
void require_version(const std::string& made_by) {
  const auto series = [](const std::string& version) {
    return version.substr(0, version.rfind('.'));
  };
  if (series(made_by) == series(RIA_VERSION)) return;
  throw std::runtime_error(
      fmt::format("the map was made by ria {}, this is {}: build it again", made_by, RIA_VERSION));
}

/// The method's file where a part beside the backbone is read from it.
std::unique_ptr<TensorFile> open_weights(const Method& method, const MethodOptions& options) {
  if (!has_trained_head(method)) return nullptr;
  return std::make_unique<TensorFile>(TensorFile::open(weights_file(method, options)));
}

/// Of the table, or what a RIA-FT file holds: that may be any network.
std::string backbone_name(const Method& method, const TensorFile* weights) {
  return method.aggregator == "ria_ft" && weights != nullptr ? backbone_in(*weights)
                                                             : method.backbone;
}

std::shared_ptr<Backbone> backbone_of(const Method& method,
                                      const MethodOptions& options,
                                      const TensorFile* weights) {
  BackboneOptions asked = options.backbone;
  asked.weights = weights_file(method, options);
  return make_backbone(backbone_name(method, weights), asked);
}

std::string onnx_key(const OnnxOptions& o) {
  return fmt::format(" {} {} {} {} {}",
                     o.onnx_output,
                     o.onnx_layout,
                     o.onnx_normalization,
                     o.onnx_leading_tokens.value_or(-1),
                     o.onnx_multiple);
}

/// What two methods must have in common to share a backbone.
std::string network_key(const Method& method, const BackboneOptions& o) {
  return fmt::format("{} {} {} {} {} {} {} {}{}",
                     method.backbone,
                     o.cut,
                     to_string(o.precision),
                     o.layer.value_or(-1),
                     o.facet ? to_string(*o.facet) : "",
                     o.position_rule ? to_string(*o.position_rule) : "",
                     o.stride,
                     o.final_norm,
                     method.backbone == "onnx" ? onnx_key(o.onnx) : "");
}

std::string backbone_key(const Method& method, const MethodOptions& options) {
  return network_key(method, options.backbone) + " " + weights_file(method, options);
}

/// Of the network in a RIA-FT file whatever its heads are, where the file says it: models whose
/// heads alone were trained have the features of one network.
std::string said_network_sha256(const TensorFile* weights) {
  if (weights == nullptr || !is_ria_ft(*weights)) return "";
  const auto found = weights->metadata().find("backbone_sha256");
  return found == weights->metadata().end() ? "" : found->second;
}

/// What an ONNX file gives is known when it is read: its patches are aggregated, by RIA if nothing
/// is said, and its descriptor is taken as it is.
const Method& fitting_method(const Method& method,
                             const MethodOptions& options,
                             const Backbone& backbone) {
  if (!backbone.is_global()) {
    return is_as_it_is(method) ? find_method(method.backbone + "-ria") : method;
  }
  const bool reranked = !options.rerank.empty() && options.rerank != "none";
  if (!is_as_it_is(method) || reranked) {
    throw std::invalid_argument(fmt::format(
        "{} gives a descriptor, no patches for {}",
        options.backbone.weights,
        reranked ? "rerank " + options.rerank : method.aggregator + ": method onnx was expected"));
  }
  return method;
}

}  // namespace

RecognizerParts::RecognizerParts(const Method& row, const MethodOptions& asked)
    : method(&row), options(resolve_options(row, asked)) {
  options.validate();
  if (options.cross_image > 1 && !has_cross_image(row)) {
    throw std::invalid_argument(
        fmt::format("cross_image is {}, but {} looks at each picture by itself: 1 was expected",
                    options.cross_image,
                    row.name));
  }
}

void RecognizerParts::make(const TensorFile* weights) {
  method = &fitting_method(*method, options, *backbone);
  network_sha256 = said_network_sha256(weights);
  preprocessing = method_preprocessing(*backbone, options);
  fitted.merge(read_fitted(*method, backbone->dim(), options));
  aggregator = make_head(*method, options, backbone->dim(), fitted, weights, backbone->reading());
  reranker = make_reranker(*method, options, backbone->dim(), weights);
  postprocessor = make_postprocessor(fitted);
}

void RecognizerParts::fold() {
  const RiaOptions& ria = options.ria;
  if (method->aggregator != "ria" || ria.normalize_patches || ria.projection == "none" ||
      !aggregator || reranker || backbone.use_count() > 1) {
    return;
  }
  const auto found = fitted.find(kProjection);
  const Matrix projection =
      found != fitted.end() ? found->second : random_orthogonal(backbone->dim(), ria.d, ria.seed);
  std::shared_ptr<Backbone> other = backbone->folded(projection);
  if (!other) return;
  backbone = std::move(other);
  folded = true;
  RiaOptions rest = ria;
  rest.projection = "none";
  aggregator = make_ria(backbone->dim(), rest);
}

std::string RecognizerParts::feature_key() const {
  if (folded) return "";
  return fmt::format("{} | {} | {}",
                     network_key(*method, options.backbone),
                     network_sha256.empty() ? backbone->weights_sha256() : network_sha256,
                     to_string(preprocessing));
}

Recognizer::Recognizer(std::unique_ptr<RecognizerParts> parts) : parts_(std::move(parts)) {}
Recognizer::~Recognizer() = default;
Recognizer::Recognizer(Recognizer&&) noexcept = default;
Recognizer& Recognizer::operator=(Recognizer&&) noexcept = default;

Recognizer::Recognizer(const std::string& method, const MethodOptions& options) {
  const MethodChoice choice = choose_method(method, options);
  parts_ = std::make_unique<RecognizerParts>(*choice.method, choice.options);
  const auto weights = open_weights(*parts_->method, parts_->options);
  adopt_settings(*parts_->method, weights.get(), parts_->options);
  parts_->backbone = backbone_of(*parts_->method, parts_->options, weights.get());
  parts_->make(weights.get());
  parts_->fold();
}

Recognizer::Recognizer(const Map& map, const BackboneOptions& backbone)
    : parts_(std::make_unique<RecognizerParts>(find_method(map.header().method),
                                               parse_options_json(map.header().options))) {
  require_version(map.header().ria_version);
  parts_->options.backbone.weights = backbone.weights;
  const auto weights = open_weights(*parts_->method, parts_->options);
  parts_->backbone = backbone_of(*parts_->method, parts_->options, weights.get());
  const std::string sha256 = parts_->backbone->weights_sha256();
  if (sha256 != map.header().weights_sha256) {
    throw std::runtime_error(fmt::format(
        "the map was made with weights {}, these are {}", map.header().weights_sha256, sha256));
  }
  parts_->fitted = map.fitted();
  parts_->make(weights.get());
  if (!parts_->aggregator || dim() != map.header().dim) {
    throw std::runtime_error(fmt::format("the map holds {} dims, method {} makes {}",
                                         map.header().dim,
                                         method().name,
                                         parts_->aggregator ? dim() : 0));
  }
  parts_->fold();
}

const Method& Recognizer::method() const { return *parts_->method; }
const MethodOptions& Recognizer::options() const { return parts_->options; }
const Backbone& Recognizer::backbone() const { return *parts_->backbone; }
const Preprocessing& Recognizer::preprocessing() const { return parts_->preprocessing; }
std::string Recognizer::feature_key() const { return parts_->feature_key(); }
const std::map<std::string, Matrix>& Recognizer::fitted() const { return parts_->fitted; }
const Postprocessor& Recognizer::postprocessor() const { return parts_->postprocessor; }
const Reranker* Recognizer::reranker() const { return parts_->reranker.get(); }

const Aggregator& Recognizer::aggregator() const {
  if (!parts_->aggregator) {
    throw std::invalid_argument(
        fmt::format("the {} of {} is not fitted yet: call fit() first",
                    method().aggregator == "ria" ? "projection" : "vocabulary",
                    method().name));
  }
  return *parts_->aggregator;
}

int Recognizer::dim() const { return postprocessor().dim(aggregator().dim()); }

MapHeader Recognizer::header() const {
  return {method().name,
          options_json(method(), options()),
          backbone().weights_sha256(),
          RIA_VERSION,
          dim()};
}

Descriptor Recognizer::describe(const ImageView& picture) const {
  return postprocessor().apply(
      aggregator().aggregate(backbone().extract(preprocess(picture, preprocessing()))));
}

DescribedPicture Recognizer::describe_whole(const ImageView& picture) const {
  const PatchFeatures features = backbone().extract(preprocess(picture, preprocessing()));
  DescribedPicture described{postprocessor().apply(aggregator().aggregate(features)), {}};
  if (reranker() != nullptr) described.local = pack(reranker()->extract(features));
  return described;
}

Descriptor Recognizer::describe(const fs::path& picture) const {
  return describe(load_image(picture, preprocessing().load));
}

Descriptions Recognizer::describe(const std::vector<fs::path>& pictures,
                                  const RunOptions& run) const {
  return std::move(describe_together({this}, pictures, run).front());
}

Map Recognizer::map(const Descriptions& described) const {
  Map map(header());
  map.set_fitted(fitted());
  add(described, map);
  return map;
}

int Recognizer::add(const Descriptions& described, Map& map) const {
  if (!described.failures.empty()) return add(described.without_failures(), map);
  std::vector<Place> places;
  for (const std::string& name : described.names) places.push_back(place_named(name));
  map.add(described.descriptors, places, described.locals);
  return static_cast<int>(places.size());
}

Map Recognizer::map(const std::vector<fs::path>& pictures, const RunOptions& run) {
  fit(pictures, run);
  Descriptions described = describe(pictures, run);
  finish(described, static_cast<int>(pictures.size()));
  return map(described);
}

std::unique_ptr<Recognizer> RecognizerMaker::share(const MethodChoice& choice) {
  auto parts = std::make_unique<RecognizerParts>(*choice.method, choice.options);
  const auto weights = open_weights(*parts->method, parts->options);
  adopt_settings(*parts->method, weights.get(), parts->options);
  std::shared_ptr<Backbone>& backbone = backbones_[backbone_key(*parts->method, parts->options)];
  if (!backbone) backbone = backbone_of(*parts->method, parts->options, weights.get());
  parts->backbone = backbone;
  parts->make(weights.get());
  return std::unique_ptr<Recognizer>(new Recognizer(std::move(parts)));
}

std::unique_ptr<Recognizer> RecognizerMaker::from_tensors(const MethodChoice& choice,
                                                          const TensorFile& weights,
                                                          Fitted fitted) {
  auto parts = std::make_unique<RecognizerParts>(*choice.method, choice.options);
  const std::string backbone = backbone_name(*parts->method, &weights);
  parts->backbone = backbone == "rootsift"
                        ? make_backbone(backbone)
                        : make_backbone({backbone, weights, ""}, parts->options.backbone);
  parts->options.vlad.vocabulary = "database";
  parts->fitted = std::move(fitted);
  parts->make(&weights);
  return std::unique_ptr<Recognizer>(new Recognizer(std::move(parts)));
}

Recognizer RecognizerMaker::another(const Recognizer& recognizer) {
  return Recognizer(std::make_unique<RecognizerParts>(*recognizer.parts_));
}

void RecognizerMaker::finish(const std::vector<std::unique_ptr<Recognizer>>& made) {
  backbones_.clear();
  for (const auto& recognizer : made) recognizer->parts_->fold();
}

void RecognizerMaker::give_vocabulary(const Matrix& centres, Recognizer& recognizer) {
  if (!recognizer.parts_->aggregator) recognizer.parts_->fitted[kCentres] = centres;
}

std::vector<std::unique_ptr<Recognizer>> make_recognizers(const std::vector<std::string>& names,
                                                          const MethodOptions& options) {
  RecognizerMaker maker;
  std::vector<std::unique_ptr<Recognizer>> recognizers;
  for (const std::string& name : names) {
    recognizers.push_back(maker.share(choose_method(name, options)));
  }
  maker.finish(recognizers);
  return recognizers;
}

}  // namespace ria
