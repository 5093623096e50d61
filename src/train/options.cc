// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "ria/backbone.h"
#include "ria/train.h"
#include "util/nearest_name.h"

namespace ria {

namespace {

void at_least(const char* name, double value, double least) {
  if (value >= least) return;  // NaN is not
  throw std::invalid_argument(
      fmt::format("{} is {}, at least {} was expected", name, value, least));
}

void above_zero(const char* name, double value) {
  if (value > 0 && std::isfinite(value)) return;
  throw std::invalid_argument(fmt::format("{} is {}, more than 0 was expected", name, value));
}

void one_of(const char* name, const std::string& value, const std::vector<std::string>& known) {
  for (const std::string& one : known) {
    if (value == one) return;
  }
  throw std::invalid_argument(unknown_name(name, value, known));
}

void check_augment(const std::string& augment) {
  const std::string cached = "cached:";
  if (augment == "standard" || augment == "none") return;
  int variants = 0;
  const char* end = augment.data() + augment.size();
  const bool counted = augment.starts_with(cached) &&
                       std::from_chars(augment.data() + cached.size(), end, variants).ptr == end &&
                       variants > 0;
  if (counted) return;
  throw std::invalid_argument(
      fmt::format("augment is '{}', standard, none or cached:N was expected", augment));
}

void check_patches(const TrainOptions& options) {
  if (options.patches_per_step == 0) return;
  if (options.patches_per_step < 2) {
    throw std::invalid_argument(fmt::format(
        "patches_per_step is {}, 0 (all) or at least 2 was expected", options.patches_per_step));
  }
  if (options.unfreeze > 0 || options.augment == "standard") {
    throw std::invalid_argument(
        "patches_per_step goes with unfreeze 0 and augment none or cached:N: elsewhere the network "
        "needs all patches");
  }
}

void check_device(const std::string& device) {
  const bool cuda = device == "cuda" || (device.starts_with("cuda:") && device.size() > 5 &&
                                         device.find_first_not_of("0123456789", 5) == device.npos);
  if (device == "cpu" || cuda) return;
  throw std::invalid_argument(
      fmt::format("device is '{}', cpu, cuda or cuda:N was expected", device));
}

}  // namespace

void TrainOptions::validate() const {
  network.validate();
  if (network.precision != Precision::kFp32) {
    throw std::invalid_argument("precision is not fp32: training is told train_precision instead");
  }
  one_of("backbone", backbone, backbone_names());
  if (backbone == "rootsift") {
    throw std::invalid_argument("backbone rootsift is no network: there is nothing to train in it");
  }
  if (backbone == "onnx") {
    throw std::invalid_argument("backbone onnx cannot be trained: an ONNX file is only run");
  }
  at_least("unfreeze", unfreeze, 0);
  at_least("heads", heads, 1);
  at_least("d", d, 1);
  at_least("mlp", mlp, 0);
  at_least("mlp_hidden", mlp_hidden, -1);
  RiaOptions ria;
  ria.tau = tau;
  ria.eps = eps;
  ria.iterations = iterations;
  ria.d = d;
  ria.validate();
  at_least("places_per_batch", places_per_batch, 2);
  at_least("pictures_per_place", pictures_per_place, 2);
  at_least("image_size", image_size, 1);
  at_least("eval_image_size", eval_image_size, 0);
  check_augment(augment);
  augmentation.validate();
  check_patches(*this);
  at_least("epochs", epochs, 0);
  at_least("min_steps", min_steps, 1);
  above_zero("lr", lr);
  above_zero("head_lr", head_lr);
  at_least("lr_end", lr_end, 0);
  at_least("schedule_steps", schedule_steps, 0);
  at_least("warmup_steps", warmup_steps, 0);
  at_least("weight_decay", weight_decay, 0);
  at_least("clip_norm", clip_norm, 0);
  above_zero("ms_alpha", ms_alpha);
  above_zero("ms_beta", ms_beta);
  at_least("val_every", val_every, 0);
  check_device(device);
  one_of("train_precision", train_precision, {"fp32", "bf16", "fp16"});
  at_least("num_threads", num_threads, 0);
  at_least("checkpoint_minutes", checkpoint_minutes, 0);
}

}  // namespace ria
