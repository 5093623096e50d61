// SPDX-License-Identifier: MIT
// Tensors of a file written by torch.save (zip form, torch 1.6 and later).
#pragma once

#include <filesystem>
#include <memory>

#include "weights/bytes.h"
#include "weights/tensor.h"

namespace ria {

/// The state dict of a checkpoint: its member state_dict, model_state_dict or model where that
/// holds tensors, else everything, nested names joined by dots. A bare tensor is named "tensor".
TensorFile read_torch_archive(const std::filesystem::path& file,
                              const std::shared_ptr<const MappedFile>& mapping);

}  // namespace ria
