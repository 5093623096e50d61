// SPDX-License-Identifier: MIT
// The backbones by name.
#include "ria/backbone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "backbone/resnet.h"
#include "backbone/rootsift.h"
#include "ria/weights.h"
#include "weights/cache.h"

namespace ria {

namespace {

class ResNet final : public Backbone {
 public:
  ResNet(std::string name,
         const TensorFile& file,
         std::string sha256,
         const BackboneOptions& options)
      : name_(std::move(name)), sha256_(std::move(sha256)) {
    ResNetPlan plan = plan_resnet(file, options.stage);
    const int output = plan.stage_tensors.back();
    net_ = std::make_unique<ConvNet>(std::move(plan.steps), std::vector<int>{output});
    dim_ = net_->channels(output);
    const auto it = file.metadata().find("normalization");
    const bool caffe = it != file.metadata().end() && it->second == "caffe";
    preprocessing_.normalization = caffe ? Normalization::kCaffe : Normalization::kImagenet;
    preprocessing_.longest_side = 480;
    preprocessing_.min_side = 32;  // two cells of stride 16: a sliver of a picture still has a grid
  }

  std::string name() const override { return name_; }
  int dim() const override { return dim_; }
  Preprocessing preprocessing() const override { return preprocessing_; }
  std::string weights_sha256() const override { return sha256_; }
  double flops(int height, int width) const override { return net_->flops(height, width); }

  PatchFeatures extract(const Pixels& pixels) const override {
    const FeatureMap map = std::move(net_->run(pixels).front());
    const Eigen::Index patches = static_cast<Eigen::Index>(map.height) * map.width;
    return {
        Eigen::Map<const Matrix>(map.hwc.data(), patches, map.channels), map.height, map.width, {}};
  }

 private:
  std::string name_;
  std::string sha256_;
  std::unique_ptr<ConvNet> net_;
  int dim_ = 0;
  Preprocessing preprocessing_;
};

}  // namespace

void BackboneOptions::validate() const {
  if (stage < 1 || stage > 5) {
    throw std::invalid_argument(fmt::format("stage is {}, 1 to 5 was expected", stage));
  }
}

std::unique_ptr<Backbone> Backbone::folded(const Matrix&) const { return nullptr; }

std::vector<std::string> backbone_names() { return {"resnet50", "rootsift"}; }

std::unique_ptr<Backbone> make_backbone(const std::string& name, const BackboneOptions& options) {
  options.validate();
  if (name == "rootsift") return make_rootsift();
  if (name == "resnet50") {
    const VerifiedWeights weights =
        options.weights.empty() ? verified_weights(name)
                                : VerifiedWeights{options.weights, file_sha256(options.weights)};
    return std::make_unique<ResNet>(name, TensorFile::open(weights.file), weights.sha256, options);
  }
  throw std::invalid_argument(
      fmt::format("unknown backbone '{}', known: {}", name, fmt::join(backbone_names(), ", ")));
}

}  // namespace ria
