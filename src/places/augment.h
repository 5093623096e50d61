// SPDX-License-Identifier: MIT
// Pictures changed at random, so that the descriptor learns what does not matter.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ria/image.h"
#include "ria/train.h"

namespace ria {

/// What RandAugment chooses from, in torchvision's order.
enum class AugmentOp {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
};
inline constexpr int kAugmentOps = 14;

/// What step `magnitude` of 0 to 30 means for an operation, without its sign: shear in pixels a
/// row, pixels of a side, degrees, change of a factor, bits, threshold; 0 where it has none.
double magnitude_of(AugmentOp op, int magnitude, int image_size);
/// Those whose magnitude may be negative.
bool is_signed(AugmentOp op);
/// `magnitude` as magnitude_of() gives it, or less than 0.
void apply_op(Image& image, AugmentOp op, double magnitude);

/// Where a random crop lies.
struct Crop {
  int top = 0, left = 0, height = 0, width = 0;
};
class SplitMix64;
Crop random_crop(int height, int width, const AugmentOptions& options, SplitMix64& random);

/// The seed of one picture in one variant: nothing else decides what augmented() does to it.
/// `picture` is its position in the set or, where sets change, a number made of its content.
std::uint64_t augment_seed(std::uint32_t seed, int epoch, std::uint64_t picture, int variant);

/// A square of image_size.
Image augmented(const ImageView& picture, const AugmentOptions& options, std::uint64_t seed);

}  // namespace ria
