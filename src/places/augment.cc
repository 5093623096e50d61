// SPDX-License-Identifier: MIT
#include "places/augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "image/resize.h"
#include "places/augment_ops.h"
#include "util/random.h"

namespace ria {

namespace {

constexpr int kLargestMagnitude = 30;

double between(const std::array<double, 2>& range, SplitMix64& random) {
  return range[0] + (range[1] - range[0]) * random.uniform();
}

/// 1 - amount to 1 + amount, not below 0.
double factor(double amount, SplitMix64& random) {
  return between({std::max(0.0, 1 - amount), 1 + amount}, random);
}

/// Colours in an order of their own for each picture, as torchvision's ColorJitter.
void jitter(Image& image, const AugmentOptions& options, SplitMix64& random) {
  std::vector<int> order{0, 1, 2, 3};
  shuffle(order, random);
  const double brightness = factor(options.brightness, random);
  const double contrast = factor(options.contrast, random);
  const double saturation = factor(options.saturation, random);
  const double hue = between({-options.hue, options.hue}, random);
  for (const int step : order) {
    if (step == 0 && options.brightness > 0) adjust_brightness(image, brightness);
    if (step == 1 && options.contrast > 0) adjust_contrast(image, contrast);
    if (step == 2 && options.saturation > 0) adjust_saturation(image, saturation);
    if (step == 3 && options.hue > 0) adjust_hue(image, hue);
  }
}

void rand_augment(Image& image, const AugmentOptions& options, SplitMix64& random) {
  for (int i = 0; i < options.rand_ops; ++i) {
    const AugmentOp op = static_cast<AugmentOp>(random.below(kAugmentOps));
    const bool negative = random.below(2) == 1;
    const double magnitude = magnitude_of(op, options.rand_magnitude, image.width);
    apply_op(image, op, negative && is_signed(op) ? -magnitude : magnitude);
  }
}

}  // namespace

void AugmentOptions::validate() const {
  const auto require = [](bool holds, const char* field, auto value, const char* expected) {
    if (holds) return;
    throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  const auto in_range = [&](const char* field, const std::array<double, 2>& range, double most) {
    const bool holds = range[0] > 0 && range[0] <= range[1] && range[1] <= most;
    require(holds,
            field,
            fmt::format("{} to {}", range[0], range[1]),
            "a rising range above 0 (of shares: up to 1)");
  };
  const auto share = [&](const char* field, double value, double most) {
    require(value >= 0 && value <= most, field, value, most == 0.5 ? "0 to 0.5" : "0 to 1");
  };
  require(image_size >= 1, "image_size", image_size, "at least 1 pixel");
  in_range("crop_scale", crop_scale, 1);
  in_range("crop_ratio", crop_ratio, 1e6);
  share("flip", flip, 1);
  share("brightness", brightness, 1);
  share("contrast", contrast, 1);
  share("saturation", saturation, 1);
  share("hue", hue, 0.5);
  share("night", night, 1);
  in_range("night_gamma", night_gamma, 1e6);
  in_range("night_gain", night_gain, 1);
  require(rand_ops >= 0, "rand_ops", rand_ops, "0 (none) or more");
  require(rand_magnitude >= 0 && rand_magnitude <= kLargestMagnitude,
          "rand_magnitude",
          rand_magnitude,
          "0 to 30");
}

std::string AugmentOptions::key() const {
  return fmt::format(
      "augment 1: {} crop {} {} {} {} flip {} colours {} {} {} {} night {} {} {} {} {} rand {} {}",
      image_size,
      crop_scale[0],
      crop_scale[1],
      crop_ratio[0],
      crop_ratio[1],
      flip,
      brightness,
      contrast,
      saturation,
      hue,
      night,
      night_gamma[0],
      night_gamma[1],
      night_gain[0],
      night_gain[1],
      rand_ops,
      rand_magnitude);
}

double magnitude_of(AugmentOp op, int magnitude, int image_size) {
  const double share = static_cast<double>(magnitude) / kLargestMagnitude;
  switch (op) {
    case AugmentOp::kIdentity:
    case AugmentOp::kAutoContrast:
    case AugmentOp::kEqualize:
      return 0;
    case AugmentOp::kShearX:
    case AugmentOp::kShearY:
      return 0.3 * share;
    case AugmentOp::kTranslateX:
    case AugmentOp::kTranslateY:
      return 150.0 / 331 * image_size * share;
    case AugmentOp::kRotate:
      return 30 * share;
    case AugmentOp::kBrightness:
    case AugmentOp::kColor:
    case AugmentOp::kContrast:
    case AugmentOp::kSharpness:
      return 0.9 * share;
    case AugmentOp::kPosterize:
      return 8 - std::nearbyint(4 * share);
    case AugmentOp::kSolarize:
      return 255 * (1 - share);
  }
  return 0;
}

bool is_signed(AugmentOp op) { return op >= AugmentOp::kShearX && op <= AugmentOp::kSharpness; }

void apply_op(Image& image, AugmentOp op, double magnitude) {
  switch (op) {
    case AugmentOp::kIdentity:
      return;
    case AugmentOp::kShearX:
      image = sheared_x(image, magnitude);
      return;
    case AugmentOp::kShearY:
      image = sheared_y(image, magnitude);
      return;
    case AugmentOp::kTranslateX:
      image = translated(image, static_cast<int>(magnitude), 0);
      return;
    case AugmentOp::kTranslateY:
      image = translated(image, 0, static_cast<int>(magnitude));
      return;
    case AugmentOp::kRotate:
      image = rotated(image, magnitude);
      return;
    case AugmentOp::kBrightness:
      return adjust_brightness(image, 1 + magnitude);
    case AugmentOp::kColor:
      return adjust_saturation(image, 1 + magnitude);
    case AugmentOp::kContrast:
      return adjust_contrast(image, 1 + magnitude);
    case AugmentOp::kSharpness:
      return adjust_sharpness(image, 1 + magnitude);
    case AugmentOp::kPosterize:
      return posterize(image, static_cast<int>(magnitude));
    case AugmentOp::kSolarize:
      return solarize(image, magnitude);
    case AugmentOp::kAutoContrast:
      return autocontrast(image);
    case AugmentOp::kEqualize:
      return equalize(image);
  }
}

/// Only shapes that fit in are drawn from: of a share s of the area those of s to 1 / s.
Crop random_crop(int height, int width, const AugmentOptions& options, SplitMix64& random) {
  const double scale = between(options.crop_scale, random);
  const double widest = -std::log(scale);
  const std::array<double, 2> shapes{std::clamp(std::log(options.crop_ratio[0]), -widest, widest),
                                     std::clamp(std::log(options.crop_ratio[1]), -widest, widest)};
  const double ratio = std::exp(between(shapes, random));
  const auto side = [](int whole, double share) {
    return std::clamp(static_cast<int>(std::lround(whole * share)), 1, whole);
  };
  Crop crop;
  crop.height = side(height, std::sqrt(scale / ratio));
  crop.width = side(width, std::sqrt(scale * ratio));
  crop.top = static_cast<int>(random.below(static_cast<std::uint64_t>(height - crop.height) + 1));
  crop.left = static_cast<int>(random.below(static_cast<std::uint64_t>(width - crop.width) + 1));
  return crop;
}

std::uint64_t augment_seed(std::uint32_t seed, int epoch, std::uint64_t picture, int variant) {
  return mixed_seed(
      {seed, static_cast<std::uint64_t>(epoch), picture, static_cast<std::uint64_t>(variant)});
}

Image augmented(const ImageView& picture, const AugmentOptions& options, std::uint64_t seed) {
  options.validate();
  picture.validate();
  SplitMix64 random(seed);
  const Crop crop = random_crop(picture.height, picture.width, options, random);
  ImageView part = picture;
  part.data += crop.top * picture.stride + crop.left * channels_of(picture.format);
  part.height = crop.height;
  part.width = crop.width;
  Image image = resize_image(part, options.image_size, options.image_size, Resize::kPilBilinear);
  if (random.uniform() < options.flip) flip_horizontally(image);
  jitter(image, options, random);
  const double gamma = between(options.night_gamma, random);
  const double gain = between(options.night_gain, random);
  if (random.uniform() < options.night) adjust_gamma(image, gamma, gain);
  rand_augment(image, options, random);
  return image;
}

}  // namespace ria
