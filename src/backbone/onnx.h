// SPDX-License-Identifier: MIT
// Any other network: an ONNX file, run by ONNX Runtime.
#pragma once

#include <memory>

#include "ria/backbone.h"

namespace ria {

/// Of the file options.weights. Throws std::runtime_error where ONNX Runtime or the file cannot be
/// had, and as read_onnx_network() does.
std::unique_ptr<Backbone> make_onnx(const BackboneOptions& options);

}  // namespace ria
