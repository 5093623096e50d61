// SPDX-License-Identifier: MIT
// ResNet of any depth and width, from torchvision-named tensors.
#pragma once

#include <memory>
#include <vector>

#include "nn/conv_net.h"
#include "weights/tensor.h"

namespace ria {

/// The network up to a stage, and where each stage ends. Stage 1 is the stem with its max-pool,
/// stages 2..5 are torchvision's layer1..layer4.
struct ResNetPlan {
  std::vector<ConvStep> steps;
  std::vector<int> stage_tensors;  ///< tensor written last by stage 1, 2, ...
};

/// Reads shapes from the tensors; batch norms are folded into the convolutions. The file's metadata
/// may say bn_eps (default 1e-5) and stride "first" (on the first convolution of a bottleneck: v1)
/// or "second" (on its 3x3: v1.5, the default).
ResNetPlan plan_resnet(const TensorFile& file, int stages);

}  // namespace ria
