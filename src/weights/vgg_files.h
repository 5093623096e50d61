// SPDX-License-Identifier: MIT
#pragma once

#include "weights/tensor.h"

namespace ria {

/// A VGG of Keras or MatConvNet under torchvision names; any other file as it is.
TensorFile torchvision_vgg(const TensorFile& file);

}  // namespace ria
