// SPDX-License-Identifier: MIT
// Which network a file holds, told from the names and shapes of its tensors.
#pragma once

#include <map>
#include <string>

#include "tensor/tensor.h"

namespace ria {

/// "resnet18", "resnet34", "resnet50", "resnet101", "resnet152" by block kind and counts (whatever
/// the width; the last stage may be cut off), "resnet" for other counts, "vgg16" and its kin by the
/// convolutions of each block, "vgg" for other counts, "dinov2-vitb14", "dinov2-vitg14-reg",
/// "dino-vits8" and their kin by width, depth and patch, "dinov2" or "dino" for others, else
/// "unknown".
std::string infer_architecture(const TensorFile& file);

/// The same for people: with what the network has beside its architecture, such as "with adapters".
std::string describe_architecture(const TensorFile& file);

/// torchvision name -> name in the file, for stem and stages of a ResNet stored under torchvision
/// or CosPlace names behind any known prefix; empty if the file holds none.
std::map<std::string, std::string> canonical_resnet_names(const TensorFile& file);

}  // namespace ria
