// SPDX-License-Identifier: MIT
// The VGG of MatConvNet, as in the official NetVLAD files, under torchvision names.
#pragma once

#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace ria {

/// Layers net.layers.N with weights.0 [height, width, in, out] and weights.1; ReLUs and pools
/// count, so N is torchvision's number.
bool is_matconvnet_vgg(const TensorFile& file);

/// Kernels become [out, in, height, width]. The metadata say normalization "minus_mean" and, as
/// "mean", the three values of net.meta.normalization.averageImage at its first pixel, or nothing
/// without that picture.
TensorFile convert_matconvnet_vgg(const TensorFile& file);

/// What stands behind the convolutions: names without the number of the tensor.
struct MatconvnetHead {
  std::string vlad;       ///< "net.layers.30.weights": score .0 and negated centres .1
  std::string whitening;  ///< "net.layers.33.weights": kernel .0 and bias .1; empty: none
};
std::optional<MatconvnetHead> matconvnet_head(const TensorFile& file);

}  // namespace ria
