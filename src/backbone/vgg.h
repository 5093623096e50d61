// SPDX-License-Identifier: MIT
// VGG of any depth and width, with or without batch norm, from torchvision-named tensors.
#pragma once

#include <memory>
#include <string>

#include "backbone/conv_backbone.h"

namespace ria {

/// The network up to `cut`: "conv5_3" (before its ReLU), "relu5_3", "pool4", or the number of a
/// torchvision module ("28" is conv5_3 of VGG16). A batch norm belongs to the convolution before
/// it. Throws std::invalid_argument for a cut that the network has not, listing those it has.
ConvPlan plan_vgg(const TensorFile& file, const std::string& cut);

std::unique_ptr<Backbone> make_vgg(const BackboneWeights& weights, const BackboneOptions& options);

}  // namespace ria
