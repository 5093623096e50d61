// SPDX-License-Identifier: MIT
// Files and tensors of other cases that case.json refers to.
#pragma once

#include "golden/golden_case.h"

namespace ria {

/// "dinov2_mlp/weights_hub.pth of this set": that file; "dinov2_mlp of this set": all weight files
/// of that case. Empty if there are none.
inline std::vector<std::filesystem::path> referenced_weights(const std::string& text) {
  const std::string path = GoldenCase::first_word(text);
  if (std::filesystem::is_directory(golden_dir() / path)) return GoldenCase(path).weight_files();
  if (std::filesystem::exists(golden_dir() / path)) return {golden_dir() / path};
  return {};
}

/// "dinov2_mlp/inputs.safetensors:98x154".
inline std::optional<Tensor> referenced_tensor(const std::string& text) {
  const std::string reference = GoldenCase::first_word(text);
  const auto colon = reference.rfind(':');
  const std::filesystem::path file = golden_dir() / reference.substr(0, colon);
  if (colon == reference.npos || !std::filesystem::is_regular_file(file)) return std::nullopt;
  return TensorFile::open(file).at(reference.substr(colon + 1));
}

}  // namespace ria
