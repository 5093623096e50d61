// SPDX-License-Identifier: MIT
// The VGG of Keras under torchvision names.
#pragma once

#include <map>
#include <string>

#include "tensor/tensor.h"

namespace ria {

bool is_keras_vgg(const TensorFile& file);

/// torchvision name -> Keras name, without the classifier; throws std::runtime_error at a tensor
/// that has no place in a VGG.
std::map<std::string, std::string> keras_vgg_names(const TensorFile& file);

/// Kernels HWIO become OIHW.
TensorFile convert_keras_vgg(const TensorFile& file);

}  // namespace ria
