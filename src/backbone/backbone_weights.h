// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "ria/backbone.h"
#include "weights/tensor.h"

namespace ria {

/// The file a backbone is made of.
struct BackboneWeights {
  std::string name;  ///< of the backbone
  TensorFile file;
  std::string sha256;
};

/// The backbone of weights.name from a file that is open already.
std::unique_ptr<Backbone> make_backbone(const BackboneWeights& weights,
                                        const BackboneOptions& options);

}  // namespace ria
