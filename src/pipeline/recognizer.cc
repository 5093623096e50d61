// SPDX-License-Identifier: MIT
#include "ria/recognizer.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "ria/version.h"
#include "weights/npy.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

constexpr char kPcaOf[] = "pca:";  // pca:FOLDER fits on the pictures of that folder

bool wants_pca(const RiaOptions& options) {
  return options.projection == "pca" || options.projection.starts_with(kPcaOf);
}

bool reads_projection(const RiaOptions& options) {
  return options.projection != "random" && options.projection != "none" && !wants_pca(options);
}

Matrix read_projection(const std::string& file, int feature_dim) {
  const Tensor tensor = read_npy(file);
  if (tensor.shape.size() != 2 || tensor.shape[0] != feature_dim || tensor.shape[1] < 1 ||
      tensor.shape[1] > feature_dim) {
    throw std::runtime_error(fmt::format(
        "{}: a projection of {} rows and at most as many columns was expected", file, feature_dim));
  }
  const std::vector<float> values = tensor.floats();
  return Eigen::Map<const Matrix>(values.data(), tensor.shape[0], tensor.shape[1]);
}

std::shared_ptr<Aggregator> make_head(const Method& method,
                                      int feature_dim,
                                      const MethodOptions& options,
                                      const Matrix& projection) {
  if (method.aggregator == "gem") return make_gem(feature_dim, options.gem);
  if (method.aggregator == "mean") return make_mean(feature_dim, options.gem.normalize_patches);
  if (wants_pca(options.ria) && projection.size() == 0) return nullptr;  // until fit()
  return make_ria(feature_dim, options.ria, projection);
}

/// At most `count` of the pictures, evenly spread.
std::vector<fs::path> spread(const std::vector<fs::path>& pictures, std::size_t count) {
  if (pictures.size() <= count) return pictures;
  std::vector<fs::path> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(pictures[i * pictures.size() / count]);
  return chosen;
}

}  // namespace

Recognizer::Recognizer(const std::string& method, const MethodOptions& options)
    : Recognizer(find_method(method),
                 options,
                 make_backbone(find_method(method).backbone, options.backbone)) {
  fold();
}

Recognizer::Recognizer(const Method& method,
                       const MethodOptions& options,
                       std::shared_ptr<Backbone> backbone)
    : method_(&method), options_(options), backbone_(std::move(backbone)) {
  options_.validate();
  preprocessing_ = method_preprocessing(*backbone_, options_);
  if (method.aggregator == "ria" && reads_projection(options_.ria)) {
    projection_ = read_projection(options_.ria.projection, backbone_->dim());
    options_.ria.projection =
        "file";  // the matrix is kept; the place it came from is nobody else's
    options_.ria.d = static_cast<int>(projection_.cols());
  }
  aggregator_ = make_head(method, backbone_->dim(), options_, projection_);
}

Recognizer::Recognizer(const Index& index, const BackboneOptions& backbone)
    : method_(&find_method(index.header().method)),
      options_(parse_options_json(index.header().options)) {
  options_.backbone.weights = backbone.weights;
  backbone_ = make_backbone(method_->backbone, options_.backbone);
  if (backbone_->weights_sha256() != index.header().weights_sha256) {
    throw std::runtime_error(fmt::format("the index was made with weights {}, these are {}",
                                         index.header().weights_sha256,
                                         backbone_->weights_sha256()));
  }
  preprocessing_ = method_preprocessing(*backbone_, options_);
  projection_ = index.projection();
  aggregator_ = make_head(*method_, backbone_->dim(), options_, projection_);
  if (!aggregator_ || aggregator_->dim() != index.header().dim) {
    throw std::runtime_error(fmt::format("the index holds {} dims, method {} makes {}",
                                         index.header().dim,
                                         method_->name,
                                         aggregator_ ? aggregator_->dim() : 0));
  }
  fold();
}

/// Where the projection meets the features as they are, the network's last layer can take it in.
void Recognizer::fold() {
  const RiaOptions& ria = options_.ria;
  if (method_->aggregator != "ria" || ria.normalize_patches || ria.projection == "none" ||
      !aggregator_ || backbone_.use_count() > 1) {
    return;
  }
  const Matrix projection =
      projection_.size() > 0 ? projection_ : random_orthogonal(backbone_->dim(), ria.d, ria.seed);
  std::shared_ptr<Backbone> folded = backbone_->folded(projection);
  if (!folded) return;
  backbone_ = std::move(folded);
  RiaOptions rest = ria;
  rest.projection = "none";
  aggregator_ = make_ria(backbone_->dim(), rest);
}

const Aggregator& Recognizer::aggregator() const {
  if (!aggregator_)
    throw std::invalid_argument("projection pca is not fitted yet: call fit() first");
  return *aggregator_;
}

int Recognizer::dim() const { return aggregator().dim(); }

IndexHeader Recognizer::header() const {
  return {method_->name,
          options_json(*method_, options_),
          backbone_->weights_sha256(),
          RIA_VERSION,
          dim()};
}

Descriptor Recognizer::describe(const Image& image) const {
  return aggregator().aggregate(backbone_->extract(preprocess(image, preprocessing_)));
}

Descriptor Recognizer::describe(const fs::path& picture) const {
  return describe(load_image(picture));
}

Descriptions Recognizer::describe(const std::vector<fs::path>& pictures,
                                  const RunOptions& run) const {
  return std::move(describe_together({this}, pictures, run).front());
}

void Recognizer::fit(const std::vector<fs::path>& pictures, const RunOptions& run) {
  if (method_->aggregator != "ria" || !wants_pca(options_.ria) || projection_.size() > 0) return;
  constexpr std::size_t kPictures = 200;  // some 100,000 patches: far more than directions
  const std::string& asked = options_.ria.projection;
  const auto chosen =
      spread(asked == "pca" ? pictures : list_pictures(asked.substr(sizeof kPcaOf - 1)), kPictures);
  PcaFitter fitter(backbone_->dim());
  int done = 0;
  std::string reason;
  for (const fs::path& picture : chosen) {
    if (run.stop.stop_requested()) throw Interrupted(done, static_cast<int>(chosen.size()));
    try {
      fitter.add(backbone_->extract(preprocess(load_image(picture), preprocessing_)).patches,
                 options_.ria.normalize_patches);
    } catch (const std::runtime_error& error) {
      if (reason.empty()) reason = error.what();
      continue;  // describe() reports the picture
    }
    if (run.progress) run.progress(++done, static_cast<int>(chosen.size()));
  }
  if (fitter.rows() == 0) {
    throw std::runtime_error(
        fmt::format("none of {} pictures could be read to fit the projection; the first: {}",
                    chosen.size(),
                    reason));
  }
  projection_ = fitter.fit(options_.ria.d);
  options_.ria.projection = "pca";
  aggregator_ = make_head(*method_, backbone_->dim(), options_, projection_);
  fold();
}

Index Recognizer::index(const Descriptions& described) const {
  const Descriptions good = described.without_failures();
  Index index(header());
  index.set_projection(projection_);
  index.add(good.descriptors, good.names);
  return index;
}

Index Recognizer::index(const std::vector<fs::path>& pictures, const RunOptions& run) {
  fit(pictures, run);
  return index(describe(pictures, run));
}

std::vector<std::unique_ptr<Recognizer>> make_recognizers(const std::vector<std::string>& names,
                                                          const MethodOptions& options) {
  std::map<std::string, std::shared_ptr<Backbone>> backbones;
  std::vector<std::unique_ptr<Recognizer>> recognizers;
  for (const std::string& name : names) {
    const Method& method = find_method(name);
    std::shared_ptr<Backbone>& backbone = backbones[method.backbone];
    if (!backbone) backbone = make_backbone(method.backbone, options.backbone);
    recognizers.emplace_back(new Recognizer(method, options, backbone));
  }
  backbones.clear();
  for (const auto& recognizer : recognizers) recognizer->fold();
  return recognizers;
}

}  // namespace ria
