// SPDX-License-Identifier: MIT
// Published weight files and the cache they are imported into.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ria {

/// A weight the methods need: where it comes from, under which licence, what the imported file
/// hashes to.
struct WeightSource {
  std::string name;  ///< also the stem of the file in the cache
  std::string architecture;
  std::string source;  ///< package or address
  std::string licence;
  std::string sha256;      ///< of the imported file; empty: not pinned
  std::string how_to_add;  ///< one command
};
const std::vector<WeightSource>& weight_sources();

/// ${XDG_CACHE_HOME:-~/.cache}/ria
std::filesystem::path cache_folder();

/// One tensor as listed by weights_info().
struct TensorInfo {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
};

struct WeightsInfo {
  std::filesystem::path file;
  std::string architecture;  ///< inferred from names and shapes
  std::string sha256;
  std::uint64_t bytes = 0;
  std::map<std::string, std::string> metadata;
  std::vector<TensorInfo> tensors;
};

/// Reads any supported file (safetensors, torch archive, tfjs model.json).
WeightsInfo weights_info(const std::filesystem::path& file);

/// Imports a supported file into the cache as NAME.safetensors with a NAME.json record; returns the
/// file. Throws std::runtime_error if the name is pinned and the content is not the pinned one.
std::filesystem::path add_weights(const std::filesystem::path& file, const std::string& name);

/// The cached file of a name; throws std::runtime_error saying how to add it if it is missing.
std::filesystem::path cached_weights(const std::string& name);

}  // namespace ria
