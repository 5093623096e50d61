// SPDX-License-Identifier: MIT
#include "ria/method.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace ria {

namespace {

using nlohmann::json;

constexpr char kRiaPaper[] = "Riemannian Invariant Aggregation for visual place recognition";
constexpr char kGemPaper[] = "Radenovic et al., Fine-tuning CNN image retrieval, TPAMI 2019";
constexpr char kMeanPaper[] =
    "Babenko and Lempitsky, Aggregating deep convolutional features, ICCV 2015";

struct NamedBackbone {
  const char* name;
  const char* summary;
  const char* weights;  // name in weight_sources(); empty: needs none
};

// clang-format off
constexpr NamedBackbone kBackbones[] = {
    {"resnet50",          "ImageNet ResNet50",            "resnet50"},
    {"resnet18",          "ImageNet ResNet18",            "resnet18-torchvision"},
    {"resnet101",         "ImageNet ResNet101",           "resnet101-torchvision"},
    {"resnet152",         "ImageNet ResNet152",           "resnet152-torchvision"},
    {"vgg16",             "ImageNet VGG16",               "vgg16-torchvision"},
    {"dinov2-vits14",     "DINOv2 ViT-S/14",              "dinov2-vits14"},
    {"dinov2-vitb14",     "DINOv2 ViT-B/14",              "dinov2-vitb14"},
    {"dinov2-vitl14",     "DINOv2 ViT-L/14",              "dinov2-vitl14"},
    {"dinov2-vitg14",     "DINOv2 ViT-g/14",              "dinov2-vitg14"},
    {"dinov2-vits14-reg", "DINOv2 ViT-S/14, registers",   "dinov2-vits14-reg"},
    {"dinov2-vitb14-reg", "DINOv2 ViT-B/14, registers",   "dinov2-vitb14-reg"},
    {"dinov2-vitl14-reg", "DINOv2 ViT-L/14, registers",   "dinov2-vitl14-reg"},
    {"dinov2-vitg14-reg", "DINOv2 ViT-g/14, registers",   "dinov2-vitg14-reg"},
    {"dino-vits8",        "DINO ViT-S/8",                 "dino-vits8"},
    {"dino-vits16",       "DINO ViT-S/16",                "dino-vits16"},
    {"dino-vitb8",        "DINO ViT-B/8",                 "dino-vitb8"},
    {"dino-vitb16",       "DINO ViT-B/16",                "dino-vitb16"},
    {"rootsift",          "dense RootSIFT",               ""},
};
// clang-format on

struct NamedAggregator {
  const char* name;
  const char* summary;
  const char* paper;
};

constexpr NamedAggregator kAggregators[] = {{"ria", "covariance on the SPD manifold", kRiaPaper},
                                            {"gem", "generalised mean", kGemPaper},
                                            {"mean", "mean", kMeanPaper}};

/// Any backbone goes with any of these aggregators.
std::vector<Method> pairings() {
  std::vector<Method> rows;
  for (const NamedBackbone& backbone : kBackbones) {
    for (const NamedAggregator& aggregator : kAggregators) {
      rows.push_back({fmt::format("{}-{}", backbone.name, aggregator.name),
                      backbone.name,
                      aggregator.name,
                      fmt::format("{}, {}", backbone.summary, aggregator.summary),
                      aggregator.paper,
                      backbone.weights});
    }
  }
  return rows;
}

json ria_json(const RiaOptions& o) {
  return {{"d", o.d},
          {"projection", o.projection},
          {"seed", o.seed},
          {"normalize_patches", o.normalize_patches},
          {"estimator", to_string(o.estimator)},
          {"tau", o.tau},
          {"eps", o.eps},
          {"mapping", to_string(o.mapping)},
          {"iterations", o.iterations},
          {"alpha", o.alpha}};
}

json gem_json(const GemOptions& o) {
  return {{"p", o.p},
          {"gem_sign", to_string(o.sign)},
          {"gem_eps", o.gem_eps},
          {"normalize_patches", o.normalize_patches}};
}

/// What was asked of a transformer; its own choices are told by the weights.
json transformer_json(const BackboneOptions& o) {
  json object = json::object();
  if (o.layer) object["layer"] = *o.layer;
  if (o.facet) object["facet"] = to_string(*o.facet);
  if (o.position_rule) object["position_rule"] = to_string(*o.position_rule);
  if (o.stride > 0) object["stride"] = o.stride;
  if (o.final_norm) object["final_norm"] = true;
  return object;
}

/// Takes a key out of the object if it is there, so that what remains is unknown.
template <typename T, typename Assign>
void take(json& object, const char* key, Assign assign) {
  const auto it = object.find(key);
  if (it == object.end()) return;
  assign(it->get<T>());
  object.erase(it);
}

template <typename T>
void take(json& object, const char* key, T& field) {
  take<T>(object, key, [&](const T& value) { field = value; });
}

void take_head(json& object, MethodOptions& o) {
  take(object, "d", o.ria.d);
  take(object, "projection", o.ria.projection);
  take(object, "seed", o.ria.seed);
  take<bool>(object, "normalize_patches", [&](bool on) {
    o.ria.normalize_patches = o.gem.normalize_patches = on;
  });
  take<std::string>(
      object, "estimator", [&](const auto& name) { o.ria.estimator = parse_estimator(name); });
  take(object, "tau", o.ria.tau);
  take(object, "eps", o.ria.eps);
  take<std::string>(
      object, "mapping", [&](const auto& name) { o.ria.mapping = parse_mapping(name); });
  take(object, "iterations", o.ria.iterations);
  take(object, "alpha", o.ria.alpha);
  take(object, "p", o.gem.p);
  take<std::string>(
      object, "gem_sign", [&](const auto& name) { o.gem.sign = parse_gem_sign(name); });
  take(object, "gem_eps", o.gem.gem_eps);
}

}  // namespace

const std::vector<Method>& methods() {
  static const std::vector<Method> rows = pairings();
  return rows;
}

const Method& find_method(const std::string& name) {
  std::vector<std::string> known;
  for (const Method& method : methods()) {
    if (method.name == name) return method;
    known.push_back(method.name);
  }
  throw std::invalid_argument(
      fmt::format("unknown method '{}', known: {}", name, fmt::join(known, ", ")));
}

void MethodOptions::validate() const {
  backbone.validate();
  ria.validate();
  gem.validate();
  if ((image_height > 0) != (image_width > 0)) {
    throw std::invalid_argument(
        fmt::format("image_size is {}x{}, both sides were expected", image_height, image_width));
  }
  if (longest_side < 0) {
    throw std::invalid_argument(fmt::format(
        "longest_side is {}, 0 (the backbone's own) or more was expected", longest_side));
  }
  if (shortest_side < 0 || image_height < 0 || image_width < 0) {
    throw std::invalid_argument("image_size must not be negative");
  }
  if (!resize.empty()) parse_resize(resize);
}

Preprocessing method_preprocessing(const Backbone& backbone, const MethodOptions& options) {
  Preprocessing pre = backbone.preprocessing();
  if (!options.resize.empty()) pre.resize = parse_resize(options.resize);
  if (options.image_height > 0) {
    pre.height = options.image_height;
    pre.width = options.image_width;
    pre.longest_side = 0;
  } else if (options.native_size) {
    pre.longest_side = 0;
  } else if (options.shortest_side > 0) {
    pre.shortest_side = options.shortest_side;
    pre.longest_side = 0;
  } else if (options.longest_side > 0) {
    pre.longest_side = options.longest_side;
  }
  pre.validate();
  return pre;
}

std::string options_json(const Method& method, const MethodOptions& options) {
  json object = json::object();
  if (method.aggregator == "ria") object.update(ria_json(options.ria));
  if (method.aggregator == "gem") object.update(gem_json(options.gem));
  if (method.aggregator == "mean") object["normalize_patches"] = options.gem.normalize_patches;
  if (const std::string cut = default_cut(method.backbone); !cut.empty()) {
    object["cut"] = options.backbone.cut.empty() ? cut : options.backbone.cut;
  }
  if (options.backbone.precision != Precision::kFp32 && !method.weights.empty()) {
    object["precision"] = to_string(options.backbone.precision);
  }
  if (method.backbone.starts_with("dino")) object.update(transformer_json(options.backbone));
  if (options.longest_side > 0) object["longest_side"] = options.longest_side;
  if (options.shortest_side > 0) object["shortest_side"] = options.shortest_side;
  if (options.image_height > 0) object["image_size"] = {options.image_height, options.image_width};
  if (options.native_size) object["native_size"] = true;
  if (!options.resize.empty()) object["resize"] = options.resize;
  return object.dump();
}

MethodOptions parse_options_json(const std::string& text) {
  MethodOptions options;
  try {
    json object = json::parse(text);
    take_head(object, options);
    take(object, "cut", options.backbone.cut);
    take<std::string>(object, "precision", [&](const auto& name) {
      options.backbone.precision = parse_precision(name);
    });
    take<int>(object, "layer", [&](int layer) { options.backbone.layer = layer; });
    take<std::string>(
        object, "facet", [&](const auto& name) { options.backbone.facet = parse_facet(name); });
    take<std::string>(object, "position_rule", [&](const auto& name) {
      options.backbone.position_rule = parse_position_rule(name);
    });
    take(object, "stride", options.backbone.stride);
    take(object, "final_norm", options.backbone.final_norm);
    take(object, "longest_side", options.longest_side);
    take(object, "shortest_side", options.shortest_side);
    take<std::array<int, 2>>(object, "image_size", [&](const auto& size) {
      options.image_height = size[0];
      options.image_width = size[1];
    });
    take(object, "native_size", options.native_size);
    take(object, "resize", options.resize);
    if (!object.empty()) {
      throw std::invalid_argument(fmt::format("unknown option '{}'", object.begin().key()));
    }
  } catch (const json::exception& error) {
    throw std::invalid_argument(fmt::format("options are not what was expected: {}", error.what()));
  }
  options.validate();
  return options;
}

}  // namespace ria
