// SPDX-License-Identifier: MIT
// What a weight file holds, and whether it is sound.
#include <fmt/format.h>

#include <cmath>

#include "fetch/cache.h"
#include "fetch/hashes.h"
#include "fetch/sources.h"
#include "ria/weights.h"
#include "tensor/tensor.h"
#include "util/hash.h"
#include "util/nearest_name.h"
#include "weights/architecture.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

/// The name whose file in the cache this is; empty: none.
std::string cached_name_of(const fs::path& file) {
  std::error_code error;
  const fs::path cached = weights_folder() / (file.stem().string() + ".safetensors");
  return fs::equivalent(file, cached, error) && !error ? file.stem().string() : "";
}

template <typename T>
void count(const std::vector<T>& values, NonFiniteTensor& found) {
  for (const T value : values) {
    found.nans += std::isnan(value) ? 1 : 0;
    found.infinities += std::isinf(value) ? 1 : 0;
  }
}

NonFiniteTensor look_at(const std::string& name, const Tensor& tensor) {
  NonFiniteTensor found{name};
  if (tensor.dtype == DType::F64) count(tensor.doubles(), found);
  if (tensor.dtype == DType::F32 || tensor.dtype == DType::F16 || tensor.dtype == DType::BF16) {
    count(tensor.floats(), found);
  }
  return found;
}

/// What a file of this name may hash to: as imported, or as published.
std::string expected_of(const std::string& name, const std::string& sha256) {
  const WeightSource* source = find_source(name);
  const bool published = source != nullptr && !source->published_sha256.empty();
  if (published && sha256.starts_with(source->published_sha256)) return source->published_sha256;
  const bool recorded = fs::exists(weights_folder() / (name + ".json"));
  if (!recorded && published) return source->published_sha256;
  return recorded_sha256(name);
}

}  // namespace

WeightsInfo weights_info(const fs::path& file) {
  const TensorFile tensors = TensorFile::open(file);
  WeightsInfo info;
  info.file = file;
  info.architecture = describe_architecture(tensors);
  info.sha256 = file_sha256(file);
  for (const fs::path& part : weights_files(file)) info.bytes += fs::file_size(part);
  info.metadata = tensors.metadata();
  for (const auto& [name, tensor] : tensors.tensors()) {
    info.tensors.push_back(
        {name, std::string(dtype_name(tensor.dtype)), tensor.shape, tensor.bytes.size()});
  }
  return info;
}

WeightsCheck verify_weights(const fs::path& name_or_file, const std::string& name) {
  WeightsCheck check;
  const std::string given = name_or_file.string();
  const fs::path cached = weights_folder() / (given + ".safetensors");
  const bool plain = given.find('/') == std::string::npos && !given.empty();
  std::string known = name;
  if (plain && (find_source(given) != nullptr || fs::exists(cached))) {
    check_weights_name(given);
    if (known.empty()) known = given;
    if (!fs::exists(cached)) verified_weights(given);  // says how to add it
    check.file = cached;
  } else {
    if (plain && !name_or_file.has_extension() && !fs::exists(name_or_file)) {
      throw std::runtime_error(
          fmt::format("there is no file {0} and no cached weights of this name: {1}'ria weights "
                      "list' lists them",
                      given,
                      did_you_mean(given, known_weights())));
    }
    check.file = name_or_file;
    if (known.empty()) known = cached_name_of(check.file);
  }
  check.sha256 = hash_weights(check.file, sha256_file);
  const TensorFile file = TensorFile::open(check.file);
  if (!known.empty()) check.expected = expected_of(known, check.sha256);
  for (const auto& [tensor_name, tensor] : file.tensors()) {
    const NonFiniteTensor found = look_at(tensor_name, tensor);
    if (found.nans + found.infinities > 0) check.non_finite.push_back(found);
    check.values += static_cast<std::uint64_t>(tensor.size());
    ++check.tensors;
  }
  return check;
}

}  // namespace ria
