// SPDX-License-Identifier: MIT
// What the Keras networks share: "layer/variable" names and HWIO kernels.
#pragma once

#include <string>
#include <utility>

#include "tensor/tensor.h"

namespace ria {

/// "conv1/kernel" -> {"conv1", "kernel"}; the variable is empty without a slash.
std::pair<std::string, std::string> split_keras_name(const std::string& name);

/// A kernel [height, width, in, out] as [out, in, height, width].
Tensor keras_kernel_to_oihw(const TensorFile& file, const std::string& name);

/// What made the file, for the metadata of its conversion.
std::string keras_source(const TensorFile& file);

}  // namespace ria
