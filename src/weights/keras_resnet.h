// SPDX-License-Identifier: MIT
// The ResNet of Keras (names of the Caffe original) under torchvision names.
#pragma once

#include <map>
#include <string>

#include "tensor/tensor.h"

namespace ria {

bool is_keras_resnet(const TensorFile& file);

/// torchvision name -> Keras name, without the convolution biases and the classifier; throws
/// std::runtime_error at a tensor that has no place in a ResNet.
std::map<std::string, std::string> keras_resnet_names(const TensorFile& file);

/// Kernels HWIO become OIHW and each convolution bias is absorbed by the batch norm behind it.
TensorFile convert_keras_resnet(const TensorFile& file);

}  // namespace ria
