// SPDX-License-Identifier: MIT
// Patch features kept on disk, so that a grid of heads needs the network only once.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "ria/features.h"
#include "tensor/tensor.h"

namespace ria {

/// What a picture's file turned into.
struct CachedFeatures {
  PatchFeatures features;
  std::array<int, 2> image_size{};  ///< height, width of the picture as loaded
};

/// The same where it lies in the cache: nothing is read before its values are.
struct MappedFeatures {
  Tensor patches;  ///< rows x columns
  int grid_height = 0;
  int grid_width = 0;
};

/// One file a picture and network, in half precision (in float32 where a value does not fit). May
/// be used by many threads and processes at once; what cannot be written or read is computed again.
class FeatureCache {
 public:
  /// `network` names everything beside the picture that decides the features.
  FeatureCache(std::filesystem::path folder, const std::string& network);

  /// The key of a picture: its content, not its name. Throws std::runtime_error if it is missing.
  std::string key(const std::filesystem::path& picture) const;
  /// The same where the sha256 of its file is known.
  std::string key_of_content(const std::string& sha256) const;
  std::optional<CachedFeatures> find(const std::string& key) const;
  std::optional<MappedFeatures> map(const std::string& key) const;
  /// Keeps the features and rounds them to what find() gives.
  void put(const std::string& key, CachedFeatures& made) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;

  std::filesystem::path folder_;
  std::string network_;
};

/// A picture's features from the cache in `folder`, or as `make` makes them and then kept there.
/// Without a folder or the network's name they are always made, and not rounded.
CachedFeatures cached_features(const std::filesystem::path& folder,
                               const std::string& network,
                               const std::filesystem::path& picture,
                               const std::function<CachedFeatures()>& make);

}  // namespace ria
