// SPDX-License-Identifier: MIT
#include "ria/recognizer.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "backbone/backbone_weights.h"
#include "pipeline/maker.h"
#include "pipeline/parts.h"
#include "ria/version.h"
#include "weights/tensor.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

/// The method's file where a part beside the backbone is read from it.
std::unique_ptr<TensorFile> open_weights(const Method& method, const MethodOptions& options) {
  if (!has_trained_head(method)) return nullptr;
  return std::make_unique<TensorFile>(TensorFile::open(weights_file(method, options)));
}

std::shared_ptr<Backbone> backbone_of(const Method& method, const MethodOptions& options) {
  BackboneOptions asked = options.backbone;
  asked.weights = weights_file(method, options);
  return make_backbone(method.backbone, asked);
}

/// What two methods must have in common to share a backbone.
std::string backbone_key(const Method& method, const MethodOptions& options) {
  const BackboneOptions& o = options.backbone;
  return fmt::format("{} {} {} {} {} {} {} {} {}",
                     method.backbone,
                     weights_file(method, options),
                     o.cut,
                     to_string(o.precision),
                     o.layer.value_or(-1),
                     o.facet ? to_string(*o.facet) : "",
                     o.position_rule ? to_string(*o.position_rule) : "",
                     o.stride,
                     o.final_norm);
}

}  // namespace

Recognizer::Recognizer(const Method& method, const MethodOptions& options)
    : method_(&method), options_(resolve_options(method, options)) {
  options_.validate();
}

Recognizer::Recognizer(const std::string& method, const MethodOptions& options)
    : Recognizer(*choose_method(method, options).method, choose_method(method, options).options) {
  const auto weights = open_weights(*method_, options_);
  adopt_settings(*method_, weights.get(), options_);
  backbone_ = backbone_of(*method_, options_);
  make_parts(weights.get());
  fold();
}

Recognizer::Recognizer(const Index& index, const BackboneOptions& backbone)
    : Recognizer(find_method(index.header().method), parse_options_json(index.header().options)) {
  options_.backbone.weights = backbone.weights;
  backbone_ = backbone_of(*method_, options_);
  if (backbone_->weights_sha256() != index.header().weights_sha256) {
    throw std::runtime_error(fmt::format("the index was made with weights {}, these are {}",
                                         index.header().weights_sha256,
                                         backbone_->weights_sha256()));
  }
  fitted_ = index.fitted();
  make_parts(open_weights(*method_, options_).get());
  if (!aggregator_ || dim() != index.header().dim) {
    throw std::runtime_error(fmt::format("the index holds {} dims, method {} makes {}",
                                         index.header().dim,
                                         method_->name,
                                         aggregator_ ? dim() : 0));
  }
  fold();
}

void Recognizer::make_parts(const TensorFile* weights) {
  preprocessing_ = method_preprocessing(*backbone_, options_);
  fitted_.merge(read_fitted(*method_, backbone_->dim(), options_));
  aggregator_ = make_head(*method_, options_, backbone_->dim(), fitted_, weights);
  reranker_ = make_reranker(*method_, options_, backbone_->dim(), weights);
  postprocessor_ = make_postprocessor(fitted_);
}

/// Where the projection meets the features as they are, the network's last layer can take it in.
void Recognizer::fold() {
  const RiaOptions& ria = options_.ria;
  if (method_->aggregator != "ria" || ria.normalize_patches || ria.projection == "none" ||
      !aggregator_ || reranker_ || backbone_.use_count() > 1) {
    return;
  }
  const auto found = fitted_.find(kProjection);
  const Matrix projection =
      found != fitted_.end() ? found->second : random_orthogonal(backbone_->dim(), ria.d, ria.seed);
  std::shared_ptr<Backbone> folded = backbone_->folded(projection);
  if (!folded) return;
  backbone_ = std::move(folded);
  folded_ = true;
  RiaOptions rest = ria;
  rest.projection = "none";
  aggregator_ = make_ria(backbone_->dim(), rest);
}

std::string Recognizer::feature_key() const {
  if (folded_) return "";
  return fmt::format("{} | {} | {}",
                     backbone_key(*method_, options_),
                     backbone_->weights_sha256(),
                     to_string(preprocessing_));
}

const Aggregator& Recognizer::aggregator() const {
  if (!aggregator_) {
    throw std::invalid_argument(
        fmt::format("the {} of {} is not fitted yet: call fit() first",
                    method_->aggregator == "ria" ? "projection" : "vocabulary",
                    method_->name));
  }
  return *aggregator_;
}

int Recognizer::dim() const { return postprocessor_.dim(aggregator().dim()); }

IndexHeader Recognizer::header() const {
  return {method_->name,
          options_json(*method_, options_),
          backbone_->weights_sha256(),
          RIA_VERSION,
          dim()};
}

Descriptor Recognizer::describe(const Image& image) const {
  return postprocessor_.apply(
      aggregator().aggregate(backbone_->extract(preprocess(image, preprocessing_))));
}

Descriptor Recognizer::describe(const fs::path& picture) const {
  return describe(load_image(picture));
}

Descriptions Recognizer::describe(const std::vector<fs::path>& pictures,
                                  const RunOptions& run) const {
  return std::move(describe_together({this}, pictures, run).front());
}

Index Recognizer::index(const Descriptions& described) const {
  Descriptions good = described.without_failures();
  Index index(header());
  index.set_fitted(fitted_);
  index.add(good.descriptors, good.names, std::move(good.locals));
  return index;
}

Index Recognizer::index(const std::vector<fs::path>& pictures, const RunOptions& run) {
  fit(pictures, run);
  Descriptions described = describe(pictures, run);
  finish(described, static_cast<int>(pictures.size()));
  return index(described);
}

std::unique_ptr<Recognizer> RecognizerMaker::share(const MethodChoice& choice) {
  std::unique_ptr<Recognizer> made(new Recognizer(*choice.method, choice.options));
  const auto weights = open_weights(*made->method_, made->options_);
  adopt_settings(*made->method_, weights.get(), made->options_);
  std::shared_ptr<Backbone>& backbone = backbones_[backbone_key(*made->method_, made->options_)];
  if (!backbone) backbone = backbone_of(*made->method_, made->options_);
  made->backbone_ = backbone;
  made->make_parts(weights.get());
  return made;
}

std::unique_ptr<Recognizer> RecognizerMaker::from_tensors(const MethodChoice& choice,
                                                          const TensorFile& weights,
                                                          Fitted fitted) {
  std::unique_ptr<Recognizer> made(new Recognizer(*choice.method, choice.options));
  made->backbone_ =
      made->method_->backbone == "rootsift"
          ? make_backbone("rootsift")
          : make_backbone({made->method_->backbone, weights, ""}, made->options_.backbone);
  made->options_.vlad.vocabulary = "database";
  made->fitted_ = std::move(fitted);
  made->make_parts(&weights);
  return made;
}

void RecognizerMaker::finish(const std::vector<std::unique_ptr<Recognizer>>& made) {
  backbones_.clear();
  for (const auto& recognizer : made) recognizer->fold();
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
