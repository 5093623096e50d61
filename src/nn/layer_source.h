// SPDX-License-Identifier: MIT
// Layers as they are read, with what stands around them made part of their weights.
#pragma once

#include <vector>

#include "nn/panel_linear.h"

namespace ria {

/// Scale and shift of a layer norm.
struct NormSource {
  std::vector<float> weight;
  std::vector<float> bias;
};

/// The norm's scale and shift as part of the layer behind it: W (g n + b) + c = (W g) n + (W b +
/// c).
LinearSource behind_norm(LinearSource layer, const NormSource& norm);

/// Each output times its factor; no factors: as it is.
LinearSource scaled(LinearSource layer, const std::vector<float>& factors);

}  // namespace ria
