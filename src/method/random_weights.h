// SPDX-License-Identifier: MIT
// Made-up weights of published shapes, for what needs a network but no meaning.
#pragma once

#include <string>

#include "ria/method.h"
#include "tensor/tensor.h"

namespace ria {

/// The tensors of a named network under published names, the same bits every time. Throws
/// std::invalid_argument for a backbone that stands for any network of its kind.
TensorFile random_backbone(const std::string& backbone);

/// The same with the tensors of a trained head and adapters where the method has them.
TensorFile random_weights(const Method& method);

}  // namespace ria
