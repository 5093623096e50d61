// SPDX-License-Identifier: MIT
#include "train/option_json.h"

#include <algorithm>
#include <array>

#include "ria/method.h"

namespace ria {

using nlohmann::ordered_json;

namespace {

std::string value_text(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

template <typename T, typename Name>
ordered_json or_own(const std::optional<T>& value, Name name) {
  return value ? ordered_json(name(*value)) : ordered_json("own");
}

void add_network(const TrainOptions& o, ordered_json& all) {
  const BackboneOptions& network = o.network;
  all["backbone"] = o.backbone;
  all["weights"] = network.weights;
  all["cut"] = network.cut;
  all["layer"] = or_own(network.layer, [](int layer) { return layer; });
  all["facet"] = or_own(network.facet, [](Facet facet) { return to_string(facet); });
  all["position_rule"] =
      or_own(network.position_rule, [](PositionRule rule) { return to_string(rule); });
  all["stride"] = network.stride;
  all["final_norm"] = network.final_norm;
  all["unfreeze"] = o.unfreeze;
  all["heads"] = o.heads;
  all["d"] = o.d;
  all["mlp"] = o.mlp;
  all["mlp_hidden"] = o.mlp_hidden;
  all["learn_projection"] = o.learn_projection;
  all["seed"] = o.seed;
  all["tau"] = o.tau;
  all["eps"] = o.eps;
  all["iterations"] = o.iterations;
  all["normalize_patches"] = o.normalize_patches;
}

void add_batches(const TrainOptions& o, ordered_json& all) {
  all["places_per_batch"] = o.places_per_batch;
  all["pictures_per_place"] = o.pictures_per_place;
  all["patches_per_step"] = o.patches_per_step;
  all["image_size"] = o.image_size;
  all["eval_image_size"] = o.eval_image_size;
  all["augment"] = o.augment;
  const AugmentOptions& a = o.augmentation;
  all["crop_scale"] = a.crop_scale;
  all["crop_ratio"] = a.crop_ratio;
  all["flip"] = a.flip;
  all["brightness"] = a.brightness;
  all["contrast"] = a.contrast;
  all["saturation"] = a.saturation;
  all["hue"] = a.hue;
  all["night"] = a.night;
  all["night_gamma"] = a.night_gamma;
  all["night_gain"] = a.night_gain;
  all["rand_ops"] = a.rand_ops;
  all["rand_magnitude"] = a.rand_magnitude;
  all["ignore_orientation"] = o.ignore_orientation;
}

void add_steps(const TrainOptions& o, ordered_json& all) {
  all["epochs"] = o.epochs;
  all["min_steps"] = o.min_steps;
  all["lr"] = o.lr;
  all["head_lr"] = o.head_lr;
  all["lr_end"] = o.lr_end;
  all["schedule_steps"] = o.schedule_steps;
  all["warmup_steps"] = o.warmup_steps;
  all["weight_decay"] = o.weight_decay;
  all["clip_norm"] = o.clip_norm;
  all["ms_alpha"] = o.ms_alpha;
  all["ms_beta"] = o.ms_beta;
  all["ms_base"] = o.ms_base;
  all["miner_eps"] = o.miner_eps;
  all["val_every"] = o.val_every;
}

void add_machine(const TrainOptions& o, ordered_json& all) {
  all["device"] = o.device;
  all["train_precision"] = o.train_precision;
  all["num_threads"] = o.num_threads;
  all["checkpoint_minutes"] = o.checkpoint_minutes;
  all["feature_cache"] = o.feature_cache.string();
}

}  // namespace

ordered_json train_options_json(const TrainOptions& options) {
  ordered_json all = ordered_json::object();
  add_network(options, all);
  add_batches(options, all);
  add_steps(options, all);
  add_machine(options, all);
  return all;
}

bool is_of_the_machine(const std::string& option) {
  // The weights' content is compared, not where it lies.
  constexpr std::array<const char*, 8> kOfTheMachine = {"device",
                                                        "num_threads",
                                                        "checkpoint_minutes",
                                                        "feature_cache",
                                                        "weights",
                                                        "libtorch",
                                                        "ria_version",
                                                        "workers"};
  return std::find(kOfTheMachine.begin(), kOfTheMachine.end(), option) != kOfTheMachine.end();
}

std::optional<OptionDifference> first_difference(const ordered_json& first,
                                                 const ordered_json& second) {
  for (const auto& [name, value] : first.items()) {
    if (is_of_the_machine(name)) continue;
    if (!second.contains(name)) return OptionDifference{name, value_text(value), "none"};
    const ordered_json& other = second[name];
    if (value.is_object() && other.is_object()) {
      if (const auto below = first_difference(value, other)) return below;
    } else if (value != other) {
      return OptionDifference{name, value_text(value), value_text(other)};
    }
  }
  for (const auto& [name, value] : second.items()) {
    if (is_of_the_machine(name) || first.contains(name)) continue;
    return OptionDifference{name, "none", value_text(value)};
  }
  return std::nullopt;
}

}  // namespace ria
