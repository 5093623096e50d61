// SPDX-License-Identifier: MIT
// The safetensors container: u64 header length, JSON header, packed values.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "archive/bytes.h"
#include "tensor/tensor.h"
#include "util/files.h"

namespace ria {

TensorFile read_safetensors(const std::filesystem::path& file,
                            const std::shared_ptr<const MappedFile>& mapping);

/// All shards of a model.safetensors.index.json, whose content is given: {"weight_map": {tensor:
/// shard file}}. The shards lie beside it; metadata are the shards'.
TensorFile read_safetensors_index(const std::filesystem::path& file, const nlohmann::json& index);

/// Same tensors and metadata give the same bytes; the file appears only when it is whole.
void write_safetensors(const std::filesystem::path& file,
                       const TensorMap& tensors,
                       const Metadata& metadata = {},
                       Durability durability = Durability::kSynced);

}  // namespace ria
