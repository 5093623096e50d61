// SPDX-License-Identifier: MIT
// A TensorFlow.js layers model: model.json and the shards its weightsManifest names.
#pragma once

#include <filesystem>

#include "weights/tensor.h"

namespace ria {

/// Tensors under their Keras names; metadata has generatedBy and convertedBy where given.
TensorFile read_tfjs(const std::filesystem::path& model_json);

}  // namespace ria
