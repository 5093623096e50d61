// SPDX-License-Identifier: MIT
// Options as JSON, under the names of their fields.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ria/method.h"
#include "util/nearest_name.h"

namespace ria {

namespace {

using nlohmann::json;

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

json riax_json(const RiaxOptions& o) {
  return {{"d", o.d}, {"seed", o.seed}, {"shrinkage", o.shrinkage}};
}

json gem_json(const GemOptions& o) {
  return {{"p", o.p},
          {"gem_sign", to_string(o.sign.value_or(GemSign::kClamp))},
          {"gem_eps", o.gem_eps},
          {"normalize_patches", o.normalize_patches}};
}

json vlad_json(const MethodOptions& o) {
  return {{"clusters", o.vlad.clusters},
          {"vocabulary", o.vlad.vocabulary},
          {"vlad_soft", o.vlad.vlad_soft},
          {"soft_temperature", o.vlad.soft_temperature},
          {"intra_normalize", o.vlad.intra_normalize},
          {"normalize_patches", o.vlad.normalize_patches},
          {"seed", o.ria.seed}};
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

json head_json(const Method& method, const MethodOptions& o) {
  if (method.aggregator == "ria") return ria_json(o.ria);
  if (method.aggregator == "riax") return riax_json(o.riax);
  if (method.aggregator == "gem") return gem_json(o.gem);
  if (method.aggregator == "mean") return {{"normalize_patches", o.gem.normalize_patches}};
  if (needs_vocabulary(method)) return vlad_json(o);
  return json::object();
}

json behind_head_json(const MethodOptions& o) {
  json object = json::object();
  if (o.post.center) object["center"] = true;
  if (o.post.pca > 0) object["pca"] = o.post.pca;
  if (o.post.whiten) object["whiten"] = true;
  if (o.rerank == "none" || o.rerank.empty()) return object;
  object["rerank"] = o.rerank;
  object["rerank_depth"] = o.rerank_depth;
  if (o.rerank != "patches") return object;
  object["rerank_d"] = o.patches.rerank_d;
  object["rerank_tolerance"] = o.patches.rerank_tolerance;
  object["rerank_cosine_weight"] = o.patches.rerank_cosine_weight;
  object["rerank_seed"] = o.patches.rerank_seed;
  return object;
}

json picture_json(const MethodOptions& o) {
  json object = json::object();
  if (o.longest_side > 0) object["longest_side"] = o.longest_side;
  if (o.shortest_side > 0) object["shortest_side"] = o.shortest_side;
  if (o.image_height > 0) object["image_size"] = {o.image_height, o.image_width};
  if (o.native_size) object["native_size"] = true;
  if (o.round_size) object["round_size"] = true;
  if (!o.resize.empty()) object["resize"] = o.resize;
  if (o.ignore_orientation) object["ignore_orientation"] = true;
  return object;
}

/// What a caller gave, less what was taken, and the names of all that may be given.
struct Given {
  json object;
  std::vector<std::string> known;
};

/// Takes a key out of the object if it is there, so that what remains is unknown.
template <typename T, typename Assign>
void take(Given& given, const char* key, Assign assign) {
  given.known.emplace_back(key);
  const auto it = given.object.find(key);
  if (it == given.object.end()) return;
  T value{};
  try {
    value = it->get<T>();
  } catch (const json::exception&) {
    throw std::invalid_argument(
        fmt::format("options are not what was expected: {} is {}", key, it->dump()));
  }
  assign(value);
  given.object.erase(it);
}

template <typename T>
void take(Given& object, const char* key, T& field) {
  take<T>(object, key, [&](const T& value) { field = value; });
}

/// The same for an enumerator, which is spelt out.
template <typename Field, typename Parse>
void take_name(Given& object, const char* key, Field& field, Parse parse) {
  take<std::string>(object, key, [&](const std::string& name) { field = parse(name); });
}

void take_head(Given& object, MethodOptions& o) {
  take<int>(object, "d", [&](int d) { o.ria.d = o.riax.d = d; });
  take(object, "projection", o.ria.projection);
  take<std::uint32_t>(object, "seed", [&](auto seed) { o.ria.seed = o.riax.seed = seed; });
  take(object, "shrinkage", o.riax.shrinkage);
  take<bool>(object, "normalize_patches", [&](bool on) {
    o.ria.normalize_patches = o.gem.normalize_patches = o.vlad.normalize_patches = on;
  });
  take_name(object, "estimator", o.ria.estimator, parse_estimator);
  take(object, "tau", o.ria.tau);
  take(object, "eps", o.ria.eps);
  take_name(object, "mapping", o.ria.mapping, parse_mapping);
  take(object, "iterations", o.ria.iterations);
  take(object, "alpha", o.ria.alpha);
  take(object, "p", o.gem.p);
  take_name(object, "gem_sign", o.gem.sign, parse_gem_sign);
  take(object, "gem_eps", o.gem.gem_eps);
  take(object, "clusters", o.vlad.clusters);
  take(object, "vocabulary", o.vlad.vocabulary);
  take(object, "vlad_soft", o.vlad.vlad_soft);
  take(object, "soft_temperature", o.vlad.soft_temperature);
  take(object, "intra_normalize", o.vlad.intra_normalize);
}

void take_backbone(Given& object, BackboneOptions& o) {
  take(object, "weights", o.weights);
  take(object, "cut", o.cut);
  take_name(object, "precision", o.precision, parse_precision);
  take<int>(object, "layer", [&](int layer) { o.layer = layer; });
  take_name(object, "facet", o.facet, parse_facet);
  take_name(object, "position_rule", o.position_rule, parse_position_rule);
  take(object, "stride", o.stride);
  take(object, "final_norm", o.final_norm);
}

void take_rest(Given& object, MethodOptions& o) {
  take(object, "center", o.post.center);
  take(object, "pca", o.post.pca);
  take(object, "whiten", o.post.whiten);
  take(object, "fit_folder", o.fit_folder);
  take(object, "rerank", o.rerank);
  take(object, "rerank_depth", o.rerank_depth);
  take(object, "rerank_d", o.patches.rerank_d);
  take(object, "rerank_tolerance", o.patches.rerank_tolerance);
  take(object, "rerank_cosine_weight", o.patches.rerank_cosine_weight);
  take(object, "rerank_seed", o.patches.rerank_seed);
  take(object, "longest_side", o.longest_side);
  take(object, "shortest_side", o.shortest_side);
  take<std::array<int, 2>>(object, "image_size", [&](const auto& size) {
    o.image_height = size[0];
    o.image_width = size[1];
  });
  take(object, "native_size", o.native_size);
  take(object, "round_size", o.round_size);
  take(object, "cross_image", o.cross_image);
  take(object, "resize", o.resize);
  take(object, "ignore_orientation", o.ignore_orientation);
}

/// "128", "true", "0.5" as they are, "320x240" as a pair, all else as text.
json value_of(const std::string& text) {
  int height = 0, width = 0, end = 0;
  if (std::sscanf(text.c_str(), "%dx%d%n", &height, &width, &end) == 2 &&
      end == static_cast<int>(text.size())) {
    return {height, width};
  }
  const json parsed = json::parse(text, nullptr, false);
  return parsed.is_number() || parsed.is_boolean() ? parsed : json(text);
}

}  // namespace

std::string options_json(const Method& method, const MethodOptions& options) {
  const MethodOptions o = resolve_options(method, options);
  json object = head_json(method, o);
  // Of a network whose file says which it is (RIA-FT) the cut is what was read there.
  const std::string own_cut = default_cut(method.backbone);
  const std::string& cut = o.backbone.cut.empty() ? own_cut : o.backbone.cut;
  if (!cut.empty() && (!own_cut.empty() || method.aggregator == "ria_ft")) object["cut"] = cut;
  if (o.backbone.precision != Precision::kFp32 && method.backbone != "rootsift") {
    object["precision"] = to_string(o.backbone.precision);
  }
  if (method.backbone.starts_with("dino")) object.update(transformer_json(o.backbone));
  if (has_cross_image(method)) object["cross_image"] = o.cross_image;
  object.update(behind_head_json(o));
  object.update(picture_json(o));
  return object.dump();
}

MethodOptions parse_options_json(const std::string& text, const MethodOptions& base) {
  MethodOptions options = base;
  try {
    Given given{json::parse(text), {}};
    take_head(given, options);
    take_backbone(given, options.backbone);
    take_rest(given, options);
    if (!given.object.empty()) {
      throw std::invalid_argument(
          unknown_name("option", given.object.begin().key(), given.known, "ria describe --help"));
    }
  } catch (const json::exception& error) {
    throw std::invalid_argument(fmt::format("options are not what was expected: {}", error.what()));
  }
  options.validate();
  return options;
}

MethodChoice choose_method(const std::string& text, const MethodOptions& options) {
  const std::size_t colon = text.find(':');
  const Method& method = find_method(text.substr(0, colon));
  if (colon == std::string::npos) return {&method, options};
  json object = json::object();
  std::string rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw std::invalid_argument(
          fmt::format("method '{}': '{}' is not an option as key=value", text, item));
    }
    object[item.substr(0, equals)] = value_of(item.substr(equals + 1));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  try {
    return {&method, parse_options_json(object.dump(), options)};
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("method '{}': {}", text, error.what()));
  }
}

}  // namespace ria
