// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "backbone/resnet.h"
#include "backbone/vgg.h"
#include "nn/conv_net.h"
#include "train/trunk_parts.h"
#include "weights/architecture.h"
#include "weights/keras_resnet.h"
#include "weights/vgg_files.h"
#include "weights/vgg_names.h"

namespace ria {

namespace {

class FrozenSteps final : public FrozenPart {
 public:
  /// The steps up to a tensor; none: the pixels themselves.
  FrozenSteps(std::vector<ConvStep> steps, int entry) {
    if (entry == 0) return;
    steps.resize(entry);
    net_ = std::make_unique<ConvNet>(std::move(steps), std::vector<int>{entry});
  }

  EntryValues run(const Pixels& pixels) const override {
    if (!net_) return {pixels.height, pixels.width, 3, pixels.chw};
    FeatureMap map = std::move(net_->run(pixels)[0]);
    return {map.height, map.width, map.channels, std::move(map.hwc)};
  }

 private:
  std::unique_ptr<ConvNet> net_;
};

/// The tensor in front of the last `count` residual blocks.
int before_blocks(const ConvPlan& plan, const TrainOptions& options) {
  std::vector<int> ends{plan.cuts.at("stem")};
  for (const auto& [place, tensor] : plan.cuts) {
    if (place.find('.') != place.npos) ends.push_back(tensor);
  }
  std::sort(ends.begin(), ends.end());
  const int blocks = static_cast<int>(ends.size()) - 1;
  check_unfreeze(options, blocks, "residual blocks in front of the cut");
  return ends[blocks - options.unfreeze];
}

/// The tensor that the first of the last `count` convolutions reads.
int before_convolutions(const ConvPlan& plan, const TrainOptions& options) {
  std::vector<int> inputs;
  for (const ConvStep& step : plan.steps) {
    if (step.kind == ConvStep::Kind::kConvolution) inputs.push_back(step.input);
  }
  inputs.push_back(plan.output);
  const int count = static_cast<int>(inputs.size()) - 1;
  check_unfreeze(options, count, "convolutions in front of the cut");
  return inputs[count - options.unfreeze];
}

/// Of a network, under torchvision names, what it is made of and nothing else.
std::shared_ptr<const TensorFile> only_network(const TensorFile& file, bool resnet) {
  TensorMap tensors;
  for (const auto& [name, stored] :
       resnet ? canonical_resnet_names(file) : canonical_vgg_names(file)) {
    if (!name.ends_with(".num_batches_tracked")) tensors[name] = file.at(stored);
  }
  return std::make_shared<const TensorFile>(
      file.path(), WeightFormat::safetensors, std::move(tensors), file.metadata());
}

ConvLayer layer_of(const ConvStep& step) {
  ConvLayer layer;
  layer.input = step.input;
  layer.residual = step.residual;
  layer.relu = step.relu;
  const bool pool = step.kind == ConvStep::Kind::kMaxPool;
  if (!pool) layer.name = "backbone." + step.convolution.name;
  layer.kernel = pool ? step.kernel : step.convolution.kernel;
  layer.stride = pool ? step.stride : step.convolution.stride;
  layer.pad = pool ? step.pad : step.convolution.pad;
  return layer;
}

}  // namespace

void add_conv_trunk(const BackboneWeights& weights,
                    const TrainOptions& options,
                    bool from_pixels,
                    TrainNetwork& network) {
  const TensorFile named = is_keras_resnet(weights.file) ? convert_keras_resnet(weights.file)
                                                         : torchvision_vgg(weights.file);
  const bool resnet = !canonical_resnet_names(named).empty();
  std::string cut = options.network.cut;
  if (cut.empty()) cut = default_cut(resnet ? "resnet" : "vgg");
  network.settings.backbone.cut = cut;
  network.source = only_network(named, resnet);
  network.preprocessing = conv_preprocessing(named);
  ConvPlan plan = resnet ? plan_resnet(named, cut) : plan_vgg(named, cut);

  const int entry = resnet ? before_blocks(plan, options) : before_convolutions(plan, options);
  network.shape.entry = from_pixels ? 0 : entry;
  for (int i = 0; i < static_cast<int>(plan.steps.size()); ++i) {
    const ConvStep& step = plan.steps[i];
    network.shape.conv.steps.push_back(layer_of(step));
    if (step.kind != ConvStep::Kind::kConvolution) continue;
    const Convolution& conv = step.convolution;
    network.shape.feature_dim = conv.out;
    if (i < network.shape.entry) continue;
    const std::string name = "backbone." + conv.name;
    if (!conv.norm.empty()) network.norms[name] = "backbone." + conv.norm;
    network.tensors.push_back(
        {name + ".weight", {conv.out, conv.in, conv.kernel, conv.kernel}, conv.weight});
    network.tensors.push_back({name + ".bias", {conv.out}, conv.bias});
    if (i < entry) continue;
    network.trained.push_back(name + ".weight");
    network.trained.push_back(name + ".bias");
  }
  network.frozen = std::make_shared<FrozenSteps>(std::move(plan.steps), network.shape.entry);
}

TensorMap conv_file_tensors(const TrainNetwork& network, const std::vector<NamedTensor>& tensors) {
  TensorMap out;
  for (const auto& [name, tensor] : network.source->tensors()) out["backbone." + name] = tensor;
  const auto eps = network.source->metadata().find("bn_eps");
  const double bn_eps = eps != network.source->metadata().end() ? std::stod(eps->second) : 1e-5;
  for (const NamedTensor& one : tensors) {
    const bool trained = std::find(network.trained.begin(), network.trained.end(), one.name) !=
                         network.trained.end();
    if (!one.name.starts_with("backbone.")) {
      out[one.name] = make_tensor(one.shape, one.values);
      continue;
    }
    if (!trained) continue;  // as the source has it, with its own batch norm
    const auto dot = one.name.rfind('.');
    const auto norm = network.norms.find(one.name.substr(0, dot));
    if (norm == network.norms.end() || one.name.ends_with(".weight")) {
      out[one.name] = make_tensor(one.shape, one.values);
      continue;
    }
    const std::size_t size = one.values.size();
    out.erase(one.name);  // the norm's shift has it all
    out[norm->second + ".bias"] = make_tensor(one.shape, one.values);
    out[norm->second + ".weight"] = make_tensor(one.shape, std::vector<float>(size, 1));
    out[norm->second + ".running_mean"] = make_tensor(one.shape, std::vector<float>(size, 0));
    out[norm->second + ".running_var"] =
        make_tensor(one.shape, std::vector<float>(size, static_cast<float>(1 - bn_eps)));
  }
  return out;
}

}  // namespace ria
