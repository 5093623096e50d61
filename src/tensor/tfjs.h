// SPDX-License-Identifier: MIT
// A TensorFlow.js layers model: model.json and the shards its weightsManifest names.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "tensor/tensor.h"

namespace ria {

/// Tensors under their Keras names; metadata has generatedBy and convertedBy where given. `model`
/// is the content of the file.
TensorFile read_tfjs(const std::filesystem::path& model_json, const nlohmann::json& model);

}  // namespace ria
