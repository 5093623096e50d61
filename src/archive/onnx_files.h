// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ria {

/// Names of the files beside an ONNX model (its bytes) that hold tensors of it, sorted, each once;
/// none where the model is whole. What is no model has none: whoever runs it says so.
std::vector<std::string> onnx_external_files(std::span<const std::uint8_t> model);

}  // namespace ria
