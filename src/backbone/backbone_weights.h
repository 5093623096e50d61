// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "weights/tensor.h"

namespace ria {

/// The file a backbone is made of.
struct BackboneWeights {
  std::string name;  ///< of the backbone
  TensorFile file;
  std::string sha256;
};

}  // namespace ria
