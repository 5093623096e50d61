// SPDX-License-Identifier: MIT
// The safetensors container: u64 header length, JSON header, packed values.
#pragma once

#include <filesystem>
#include <memory>

#include "weights/bytes.h"
#include "weights/tensor.h"

namespace ria {

TensorFile read_safetensors(const std::filesystem::path& file,
                            const std::shared_ptr<const MappedFile>& mapping);

/// Same tensors and metadata give the same bytes; the file appears only when it is whole.
void write_safetensors(const std::filesystem::path& file,
                       const TensorMap& tensors,
                       const Metadata& metadata = {});

}  // namespace ria
