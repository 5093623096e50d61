// SPDX-License-Identifier: MIT
#include "backbone/vgg.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "weights/vgg_files.h"
#include "weights/vgg_names.h"

namespace ria {

namespace {

/// A place after a convolution, its ReLU or a pool.
struct Place {
  std::string name;
  int module = 0;  // torchvision's number
  std::size_t convolution = 0;
  enum { kConvolution, kRelu, kPool } kind = kConvolution;
};

std::vector<Place> places_of(const std::vector<VggConvolution>& convolutions) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < convolutions.size(); ++i) {
    const VggConvolution& conv = convolutions[i];
    const int output = conv.module + (conv.batch_norm ? 1 : 0);
    const std::string number = fmt::format("{}_{}", conv.block, conv.place);
    places.push_back({"conv" + number, output, i, Place::kConvolution});
    places.push_back({"relu" + number, output + 1, i, Place::kRelu});
    const bool ends_block = i + 1 == convolutions.size() || convolutions[i + 1].place == 1;
    if (ends_block)
      places.push_back({fmt::format("pool{}", conv.block), output + 2, i, Place::kPool});
  }
  return places;
}

std::string possible_cuts(const std::vector<Place>& places) {
  std::vector<std::string> words;
  for (const Place& place : places) {
    if (place.kind != Place::kRelu) words.push_back(place.name);
  }
  return fmt::format("{}, relu instead of conv, or a module number up to {}",
                     fmt::join(words, ", "),
                     places.back().module);
}

}  // namespace

ConvPlan plan_vgg(const TensorFile& file, const std::string& cut) {
  const std::vector<VggConvolution> convolutions = vgg_convolutions(file);
  if (convolutions.empty()) throw std::runtime_error(file.path().string() + " holds no VGG");
  const std::vector<Place> places = places_of(convolutions);
  const auto end = std::find_if(places.begin(), places.end(), [&](const Place& place) {
    return place.name == cut || std::to_string(place.module) == cut;
  });
  if (end == places.end()) refuse_cut(cut, file, possible_cuts(places));

  ConvBuilder net(file, canonical_vgg_names(file));
  ConvPlan plan;
  for (auto place = places.begin(); place <= end; ++place) {
    if (place->kind == Place::kConvolution) {
      const VggConvolution& conv = convolutions[place->convolution];
      const auto module = [](int number) { return fmt::format("features.{}", number); };
      net.add(net.read(module(conv.module), conv.batch_norm ? module(conv.module + 1) : "", 1, 1),
              net.last(),
              -1,
              false);
      if (place != end) continue;  // overwritten by its ReLU
    } else if (place->kind == Place::kRelu) {
      net.steps().back().relu = true;
    } else {
      net.add_max_pool(2, 2, 0);
    }
    plan.cuts[place->name] = net.last();
  }
  plan.output = net.last();
  plan.steps = std::move(net.steps());
  return plan;
}

std::unique_ptr<Backbone> make_vgg(const BackboneWeights& weights, const BackboneOptions& options) {
  const BackboneWeights named{weights.name, torchvision_vgg(weights.file), weights.sha256};
  return make_conv_backbone(named, plan_vgg(named.file, options.cut), options);
}

}  // namespace ria
