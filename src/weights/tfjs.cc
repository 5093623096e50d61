// SPDX-License-Identifier: MIT
#include "weights/tfjs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "weights/bytes.h"

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

/// All shards of a group in one piece: a tensor may cross from one to the next.
std::shared_ptr<const std::vector<std::uint8_t>> read_shards(const fs::path& file,
                                                             const json& paths) {
  auto out = std::make_shared<std::vector<std::uint8_t>>();
  for (const json& entry : paths) {
    if (!entry.is_string()) throw read_error(file, "a shard name is not a string");
    const fs::path shard = entry.get<std::string>();
    const bool escapes = std::find(shard.begin(), shard.end(), "..") != shard.end();
    if (shard.empty() || shard.is_absolute() || escapes) {
      throw read_error(file,
                       fmt::format("shard {} lies outside its folder", printable(shard.string())));
    }
    const fs::path shard_file = file.parent_path() / shard;
    if (!fs::exists(shard_file)) {
      throw read_error(file, fmt::format("shard {} is missing", printable(shard_file.string())));
    }
    const auto mapping = MappedFile::open(shard_file);
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

void read_group(const fs::path& file, const json& group, TensorMap& tensors) {
  const json& weights = array_of(file, group, "weights");
  const auto data = read_shards(file, array_of(file, group, "paths"));
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
  for (const json& group : model["weightsManifest"]) read_group(model_json, group, tensors);
  Metadata metadata;
  for (const char* key : {"generatedBy", "convertedBy"}) {
    const std::string value = text_of(model, key);
    if (!value.empty()) metadata[key] = value;
  }
  return {model_json, WeightFormat::tfjs, std::move(tensors), std::move(metadata)};
}

}  // namespace ria
