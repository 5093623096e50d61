// SPDX-License-Identifier: MIT
// A file written by torch.save before torch 1.6: pickles one after the other, then the storages.
#pragma once

#include <filesystem>
#include <memory>

#include "archive/bytes.h"
#include "tensor/tensor.h"

namespace ria {

/// Its state dict, see torch_state_dict.h; the tensors share the mapped file.
TensorFile read_torch_legacy(const std::filesystem::path& file,
                             const std::shared_ptr<const MappedFile>& mapping);

}  // namespace ria
