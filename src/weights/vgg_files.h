// SPDX-License-Identifier: MIT
#pragma once

#include "tensor/tensor.h"

namespace ria {

/// A VGG of Keras or MatConvNet under torchvision names, one of SFRS with its normalisation; any
/// other file as it is.
TensorFile torchvision_vgg(const TensorFile& file);

}  // namespace ria
