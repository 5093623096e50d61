// SPDX-License-Identifier: MIT
#include "fetch/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "archive/bytes.h"
#include "fetch/sources.h"
#include "ria/weights.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/nearest_name.h"
#include "util/temporary.h"
#include "weights/architecture.h"
#include "weights/keras_resnet.h"

namespace ria {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

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

fs::path weights_folder() { return cache_folder() / "weights"; }

fs::path add_weights(const fs::path& file, const std::string& name) {
  return import_weights(file, name, "");
}

fs::path import_weights(const fs::path& file, const std::string& name, const std::string& url) {
  check_weights_name(name);
  const TensorFile tensors = canonical_file(TensorFile::open(file));
  const fs::path folder = weights_folder();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw std::runtime_error(fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
  // Hashed before it takes its place, so that a wrong file never replaces a right one.
  Temporary candidate(folder / fmt::format(".{}.{}.import", name, ::getpid()));
  write_safetensors(candidate.path(), tensors.tensors(), tensors.metadata());
  const std::string sha256 = sha256_file(candidate.path());
  check_pin(name, sha256, file);

  const fs::path target = folder / (name + ".safetensors");
  json record{{"name", name},
              {"file", target.filename().string()},
              {"sha256", sha256},
              {"bytes", fs::file_size(candidate.path())},
              {"source", file.filename().string()},
              {"architecture", infer_architecture(tensors)}};
  if (!url.empty()) record["url"] = url;
  const auto held = hold_temporaries();  // the file and its record
  fs::rename(candidate.path(), target, error);
  if (error) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", target.string(), error.message()));
  }
  candidate.keep();
  write_text(folder / (name + ".json"), json_text(record, 2) + "\n");
  return target;
}

fs::path cached_weights(const std::string& name) { return verified_weights(name).file; }

std::string recorded_sha256(const std::string& name) {
  const WeightSource* source = find_source(name);
  if (source != nullptr && !source->sha256.empty()) return source->sha256;
  return read_record(weights_folder() / (name + ".json"), name)["sha256"].get<std::string>();
}

VerifiedWeights verified_weights(const std::string& name) {
  check_weights_name(name);
  const fs::path file = weights_folder() / (name + ".safetensors");
  if (!fs::exists(file)) {
    const WeightSource* source = find_source(name);
    throw std::runtime_error(
        fmt::format("weights {} are missing: {}{} is needed{}; add it with: {}",
                    name,
                    source == nullptr ? did_you_mean(name, known_weights()) : "",
                    file.string(),
                    source != nullptr ? ", made from " + source->source : "",
                    how_to_add(name)));
  }
  read_record(weights_folder() / (name + ".json"), name);  // a pinned file needs one too
  const std::string expected = recorded_sha256(name);
  const std::string sha256 = file_sha256(file);
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

WeightsState weights_state(const std::string& name) {
  check_weights_name(name);
  WeightsState state;
  state.file = weights_folder() / (name + ".safetensors");
  if (!fs::exists(state.file)) {
    const WeightSource* source = find_source(name);
    const bool visit = source != nullptr && source->url.empty() && source->sha256.empty();
    state.explanation =
        visit ? fmt::format(
                    "missing; download it from {}, then: {}", source->source, how_to_add(name))
              : "missing; get it with: " + how_to_add(name);
    return state;
  }
  try {
    verified_weights(name);
    state.present = true;
  } catch (const std::runtime_error& error) {
    state.damaged = true;
    state.explanation = error.what();
  }
  return state;
}

std::vector<std::string> other_cached_weights() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(weights_folder(), none)) {
    const fs::path& file = entry.path();
    const std::string stem = file.stem().string();
    if (file.extension() != ".safetensors" || stem.starts_with(".")) continue;
    if (find_source(stem) == nullptr) names.push_back(stem);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ria
