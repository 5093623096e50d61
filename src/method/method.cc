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

// clang-format off
const std::vector<Method> kMethods = {
    {"resnet50-ria",  "resnet50", "ria",  "ImageNet ResNet50, covariance on the SPD manifold", kRiaPaper,  "resnet50"},
    {"resnet50-gem",  "resnet50", "gem",  "ImageNet ResNet50, generalised mean",               kGemPaper,  "resnet50"},
    {"resnet50-mean", "resnet50", "mean", "ImageNet ResNet50, mean",                           kMeanPaper, "resnet50"},
    {"rootsift-ria",  "rootsift", "ria",  "dense RootSIFT, covariance on the SPD manifold",    kRiaPaper,  ""},
    {"rootsift-gem",  "rootsift", "gem",  "dense RootSIFT, generalised mean",                  kGemPaper,  ""},
    {"rootsift-mean", "rootsift", "mean", "dense RootSIFT, mean",                              kMeanPaper, ""},
};
// clang-format on

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

const std::vector<Method>& methods() { return kMethods; }

const Method& find_method(const std::string& name) {
  std::vector<std::string> known;
  for (const Method& method : kMethods) {
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
