// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tensor/safetensors.h"

namespace ria {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// A plain name beside the index: nothing of a foreign file leads elsewhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

std::map<std::string, std::set<std::string>> tensors_by_shard(const fs::path& file,
                                                              const json& index) {
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object() || map->empty()) {
    throw read_error(file, "weight_map is not an object that names shards");
  }
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      throw read_error(file, fmt::format("the shard of {} is not a string", printable(tensor)));
    }
    const auto& name = shard.get_ref<const std::string&>();
    if (!is_plain_name(name)) {
      throw read_error(file, fmt::format("shard {} lies outside its folder", printable(name)));
    }
    out[name].insert(tensor);
  }
  return out;
}

}  // namespace

TensorFile read_safetensors_index(const fs::path& file, const json& index) {
  TensorMap tensors;
  Metadata metadata;
  for (const auto& [name, wanted] : tensors_by_shard(file, index)) {
    const fs::path shard_file = file.parent_path() / name;
    if (!fs::exists(shard_file)) {
      throw read_error(file, fmt::format("shard {} is missing", printable(name)));
    }
    const TensorFile shard = read_safetensors(shard_file, MappedFile::open(shard_file));
    for (const std::string& tensor : wanted) tensors.emplace(tensor, shard.at(tensor));
    metadata.insert(shard.metadata().begin(), shard.metadata().end());
  }
  return {file, WeightFormat::safetensors, std::move(tensors), std::move(metadata)};
}

}  // namespace ria
