// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "ria/backbone.h"
#include "tensor/tensor.h"

namespace ria {

/// The file a backbone is made of.
struct BackboneWeights {
  std::string name;  ///< of the backbone
  TensorFile file;
  std::string sha256;
};

/// The file that the options name, or the one in the weight cache. Throws as make_backbone() does,
/// also where it holds another network.
BackboneWeights open_backbone_weights(const std::string& name, const BackboneOptions& options);

/// Of backbone_names(): the one a file holds, or the name of its kind. Throws std::runtime_error
/// where it holds none.
std::string backbone_in(const TensorFile& file);

/// The backbone of weights.name from a file that is open already.
std::unique_ptr<Backbone> make_backbone(const BackboneWeights& weights,
                                        const BackboneOptions& options);

}  // namespace ria
