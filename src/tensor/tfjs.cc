// SPDX-License-Identifier: MIT
#include "tensor/tfjs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "archive/bytes.h"

namespace ria {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json& array_of(const fs::path& file, const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_array()) {
    throw read_error(file, fmt::format("the list {} is missing in weightsManifest", key));
  }
  return *found;
}

/// The shard's file, inside the folder of the model. `seen` has the names before it: a list that
/// names one shard over and over would fill the memory.
fs::path shard_file(const fs::path& file, const json& entry, std::set<std::string>& seen) {
  if (!entry.is_string()) throw read_error(file, "a shard name is not a string");
  const auto& name = entry.get_ref<const std::string&>();
  const auto fail = [&](std::string_view reason) {
    return read_error(file, fmt::format("shard {} {}", printable(name), reason));
  };
  const fs::path shard = name;
  const bool escapes = std::find(shard.begin(), shard.end(), "..") != shard.end();
  if (shard.empty() || shard.is_absolute() || escapes || name.find('\0') != std::string::npos) {
    throw fail("lies outside its folder");
  }
  if (!seen.insert(shard.lexically_normal().string()).second) throw fail("is named twice");
  const fs::path out = file.parent_path() / shard;
  if (!fs::exists(out)) throw fail("is missing");
  return out;
}

/// All shards of a group in one piece: a tensor may cross from one to the next.
std::shared_ptr<const std::vector<std::uint8_t>> read_shards(const fs::path& file,
                                                             const json& paths,
                                                             std::set<std::string>& seen) {
  auto out = std::make_shared<std::vector<std::uint8_t>>();
  for (const json& entry : paths) {
    const auto mapping = MappedFile::open(shard_file(file, entry, seen));
    out->insert(out->end(), mapping->bytes().begin(), mapping->bytes().end());
  }
  return out;
}

Tensor describe(const fs::path& file, const std::string& name, const json& weight) {
  const auto fail = [&](std::string_view reason) {
    return read_error(file, fmt::format("tensor {}: {}", printable(name), reason));
  };
  if (weight.contains("quantization")) throw fail("it is quantized, float32 was expected");
  const std::string dtype = text_of(weight, "dtype");
  if (dtype != "float32") {
    throw fail(fmt::format("dtype {} was found, float32 was expected", printable(dtype)));
  }
  const auto shape = weight.find("shape");
  if (shape == weight.end() || !shape->is_array()) throw fail("its shape is missing");
  Tensor tensor;
  for (const json& size : *shape) {
    const bool fits = size.is_number_unsigned() &&
                      size.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
    if (!fits) throw fail("its shape is not a list of sizes");
    tensor.shape.push_back(size.get<std::int64_t>());
  }
  return tensor;
}

void read_group(const fs::path& file,
                const json& group,
                std::set<std::string>& seen,
                TensorMap& tensors) {
  const json& weights = array_of(file, group, "weights");
  const auto data = read_shards(file, array_of(file, group, "paths"), seen);
  std::uint64_t offset = 0;
  for (const json& weight : weights) {
    const std::string name = weight.is_object() ? text_of(weight, "name") : "";
    if (name.empty()) throw read_error(file, "a weight has no name");
    Tensor tensor = describe(file, name, weight);
    const auto size = checked_product(tensor.shape, item_size(tensor.dtype));
    if (!size || !inside(offset, *size, data->size())) {
      throw read_error(
          file,
          fmt::format(
              "tensor {} reaches beyond its shards of {} bytes", printable(name), data->size()));
    }
    tensor.bytes = std::span<const std::uint8_t>(*data).subspan(offset, *size);
    tensor.owner = data;
    offset += *size;
    if (!tensors.emplace(name, std::move(tensor)).second) {
      throw read_error(file, fmt::format("tensor {} occurs twice", printable(name)));
    }
  }
  if (offset != data->size()) {
    throw read_error(
        file, fmt::format("tensors end at {}, the shards have {} bytes", offset, data->size()));
  }
}

}  // namespace

TensorFile read_tfjs(const fs::path& model_json, const json& model) {
  if (!model.contains("weightsManifest") || !model["weightsManifest"].is_array()) {
    throw read_error(model_json, "a tfjs model.json with a weightsManifest was expected");
  }
  TensorMap tensors;
  std::set<std::string> seen;
  for (const json& group : model["weightsManifest"]) read_group(model_json, group, seen, tensors);
  Metadata metadata;
  for (const char* key : {"generatedBy", "convertedBy"}) {
    const std::string value = text_of(model, key);
    if (!value.empty()) metadata[key] = value;
  }
  return {model_json, WeightFormat::tfjs, std::move(tensors), std::move(metadata)};
}

}  // namespace ria
