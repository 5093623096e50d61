// SPDX-License-Identifier: MIT
// ResNet of any depth and width, from torchvision-named tensors.
#pragma once

#include <memory>
#include <string>

#include "backbone/conv_backbone.h"

namespace ria {

/// The network up to `cut`: "stem" (with its max-pool), "layer1" to "layer4", or one block of a
/// layer ("layer3.2"). Shapes are read from the tensors; batch norms are folded into the
/// convolutions. The file's metadata may say stride "first" (on the first convolution of a
/// bottleneck: v1) or "second" (on its 3x3: v1.5, the default). Throws std::invalid_argument for a
/// cut that the network has not, listing those it has.
ConvPlan plan_resnet(const TensorFile& file, const std::string& cut);

std::unique_ptr<Backbone> make_resnet(const BackboneWeights& weights,
                                      const BackboneOptions& options);

}  // namespace ria
