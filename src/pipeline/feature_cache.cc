// SPDX-License-Identifier: MIT
#include "pipeline/feature_cache.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "ria/eigen.h"
#include "ria/version.h"
#include "tensor/safetensors.h"
#include "util/files.h"
#include "util/hash.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

constexpr float kLargestHalf = 65504;

Tensor packed(std::span<const float> values, std::int64_t rows, std::int64_t columns) {
  const std::vector<std::int64_t> shape{rows, columns};
  const bool fits = values.empty() || as_eigen(values).cwiseAbs().maxCoeff() <= kLargestHalf;
  if (!fits) return make_tensor(shape, {values.begin(), values.end()});
  const std::vector<std::uint16_t> halves = to_halves(values);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(halves.data());
  return make_tensor(DType::F16, shape, {bytes, bytes + halves.size() * sizeof(std::uint16_t)});
}

Matrix unpacked(const Tensor& tensor) {
  if (tensor.shape.size() != 2) throw std::runtime_error("not a matrix");
  return {static_cast<int>(tensor.shape[0]), static_cast<int>(tensor.shape[1]), tensor.floats()};
}

int number(const TensorFile& file, const char* key) {
  const std::string& text = file.metadata().at(key);
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value < 0) throw std::runtime_error("not a size");
  return value;
}

CachedFeatures read(const TensorFile& tensors) {
  CachedFeatures out;
  out.features.patches = unpacked(tensors.at("patches"));
  out.features.class_token = tensors.at("class_token").floats();
  out.features.grid_height = number(tensors, "grid_height");
  out.features.grid_width = number(tensors, "grid_width");
  out.image_size = {number(tensors, "image_height"), number(tensors, "image_width")};
  return out;
}

MappedFeatures mapped(const TensorFile& tensors) {
  const Tensor& patches = tensors.at("patches");
  if (patches.shape.size() != 2) throw std::runtime_error("not a matrix");
  return {patches, number(tensors, "grid_height"), number(tensors, "grid_width")};
}

/// What `read` makes of a file; nothing if there is none or it is damaged: it is made again.
template <typename Read>
auto read_if_whole(const fs::path& file, const Read& read)
    -> std::optional<decltype(read(std::declval<const TensorFile&>()))> {
  if (!fs::exists(file)) return std::nullopt;
  try {
    return read(TensorFile::open(file));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

FeatureCache::FeatureCache(fs::path folder, const std::string& network)
    : folder_(std::move(folder)), network_(network) {}

std::string FeatureCache::key(const fs::path& picture) const {
  return key_of_content(sha256_file(picture));
}

std::string FeatureCache::key_of_content(const std::string& sha256) const {
  return sha256_text(fmt::format("{} {} {}", RIA_VERSION, network_, sha256));
}

fs::path FeatureCache::file_of(const std::string& key) const {
  return folder_ / key.substr(0, 2) / (key.substr(2, 38) + ".safetensors");
}

std::optional<CachedFeatures> FeatureCache::find(const std::string& key) const {
  return read_if_whole(file_of(key), read);
}

std::optional<MappedFeatures> FeatureCache::map(const std::string& key) const {
  return read_if_whole(file_of(key), mapped);
}

void FeatureCache::put(const std::string& key, CachedFeatures& made) const {
  const fs::path file = file_of(key);
  const Matrix& patches = made.features.patches;
  const Vector& token = made.features.class_token;
  const TensorMap tensors{{"patches", packed(patches.values(), patches.rows(), patches.cols())},
                          {"class_token", packed(token, 1, std::ssize(token))}};
  made.features.patches = unpacked(tensors.at("patches"));
  made.features.class_token = tensors.at("class_token").floats();
  try {
    fs::create_directories(file.parent_path());
    write_safetensors(file,
                      tensors,
                      {{"grid_height", std::to_string(made.features.grid_height)},
                       {"grid_width", std::to_string(made.features.grid_width)},
                       {"image_height", std::to_string(made.image_size[0])},
                       {"image_width", std::to_string(made.image_size[1])}},
                      Durability::kUnsynced);
  } catch (const std::exception&) {
    // No room or no permission only costs the next run its time.
  }
}

CachedFeatures cached_features(const fs::path& folder,
                               const std::string& network,
                               const fs::path& picture,
                               const std::function<CachedFeatures()>& make) {
  if (folder.empty() || network.empty()) return make();
  const FeatureCache cache(folder, network);
  const std::string key = cache.key(picture);
  if (auto found = cache.find(key)) return std::move(*found);
  CachedFeatures made = make();
  cache.put(key, made);
  return made;
}

}  // namespace ria
