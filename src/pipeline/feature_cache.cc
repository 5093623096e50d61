// SPDX-License-Identifier: MIT
#include "pipeline/feature_cache.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "ria/version.h"
#include "util/files.h"
#include "util/hash.h"
#include "weights/safetensors.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

constexpr float kLargestHalf = 65504;

Tensor packed(const Matrix& values) {
  const std::span<const float> floats(values.data(), static_cast<std::size_t>(values.size()));
  const std::vector<std::int64_t> shape{values.rows(), values.cols()};
  const bool fits = values.size() == 0 || values.cwiseAbs().maxCoeff() <= kLargestHalf;
  if (!fits) return make_tensor(shape, {floats.begin(), floats.end()});
  const std::vector<std::uint16_t> halves = to_halves(floats);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(halves.data());
  return make_tensor(DType::F16, shape, {bytes, bytes + halves.size() * sizeof(std::uint16_t)});
}

Matrix unpacked(const Tensor& tensor) {
  if (tensor.shape.size() != 2) throw std::runtime_error("not a matrix");
  Matrix values(tensor.shape[0], tensor.shape[1]);
  tensor.copy_floats({values.data(), static_cast<std::size_t>(values.size())});
  return values;
}

int number(const TensorFile& file, const char* key) {
  const std::string& text = file.metadata().at(key);
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value < 0) throw std::runtime_error("not a size");
  return value;
}

CachedFeatures read(const fs::path& file) {
  const TensorFile tensors = TensorFile::open(file);
  CachedFeatures out;
  out.features.patches = unpacked(tensors.at("patches"));
  out.features.class_token = unpacked(tensors.at("class_token")).row(0).transpose();
  out.features.grid_height = number(tensors, "grid_height");
  out.features.grid_width = number(tensors, "grid_width");
  out.image_size = {number(tensors, "image_height"), number(tensors, "image_width")};
  return out;
}

}  // namespace

FeatureCache::FeatureCache(fs::path folder, const std::string& network)
    : folder_(std::move(folder)), network_(network) {}

std::string FeatureCache::key(const fs::path& picture) const {
  return sha256_text(fmt::format("{} {} {}", RIA_VERSION, network_, sha256_file(picture)));
}

fs::path FeatureCache::file_of(const std::string& key) const {
  return folder_ / key.substr(0, 2) / (key.substr(2, 38) + ".safetensors");
}

std::optional<CachedFeatures> FeatureCache::find(const std::string& key) const {
  const fs::path file = file_of(key);
  if (!fs::exists(file)) return std::nullopt;
  try {
    return read(file);
  } catch (const std::exception&) {
    return std::nullopt;  // damaged: it is made again
  }
}

void FeatureCache::put(const std::string& key, CachedFeatures& made) const {
  const fs::path file = file_of(key);
  const TensorMap tensors{{"patches", packed(made.features.patches)},
                          {"class_token", packed(Matrix(made.features.class_token.transpose()))}};
  made.features.patches = unpacked(tensors.at("patches"));
  made.features.class_token = unpacked(tensors.at("class_token")).row(0).transpose();
  try {
    fs::create_directories(file.parent_path());
    write_safetensors(file,
                      tensors,
                      {{"grid_height", std::to_string(made.features.grid_height)},
                       {"grid_width", std::to_string(made.features.grid_width)},
                       {"image_height", std::to_string(made.image_size[0])},
                       {"image_width", std::to_string(made.image_size[1])}});
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
