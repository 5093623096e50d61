// SPDX-License-Identifier: MIT
// A file written by torch.save in its zip form, torch 1.6 and later.
#pragma once

#include <filesystem>
#include <memory>

#include "archive/bytes.h"
#include "archive/zip.h"
#include "tensor/tensor.h"

namespace ria {

/// Its state dict, see torch_state_dict.h; the tensors share the mapped file.
TensorFile read_torch_archive(const std::filesystem::path& file,
                              const std::shared_ptr<const MappedFile>& mapping,
                              ZipMembers members);

}  // namespace ria
