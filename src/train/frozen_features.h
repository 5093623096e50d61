// SPDX-License-Identifier: MIT
// What the frozen part of a network makes of the training pictures: computed once, kept on disk in
// half precision, and served in batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "pipeline/feature_cache.h"
#include "places/augment.h"
#include "ria/recognizer.h"
#include "ria/train.h"
#include "train/engine.h"
#include "train/network.h"

namespace ria {

/// A picture as it is (variant 0) or its v-th augmentation.
struct PictureVariant {
  int picture = 0;  ///< position in the list of pictures
  int variant = 0;
};

/// Which patches of its pictures a batch takes: so many, by the seed others of every picture; 0:
/// all.
struct PatchDraw {
  int patches = 0;
  std::uint64_t seed = 0;
};

/// The frozen part and what its values depend on.
struct FrozenSource {
  std::shared_ptr<const FrozenPart> part;
  Preprocessing preprocessing;  ///< the backbone's own
  std::string key;              ///< everything of the network that decides the values
  bool from_pixels = false;     ///< nothing is in front of the entry, and nothing worth keeping
};

FrozenSource frozen_source(const TrainNetwork& network, const TrainOptions& options);

struct FrozenOptions {
  std::filesystem::path folder;  ///< of the cache; empty: "features" in the cache folder
  AugmentOptions augment;        ///< image_size is the size of all variants
  bool own_size = false;         ///< pictures are sized as the backbone does it; variant 0 only
  std::uint32_t seed = 42;       ///< of what fill_fresh() makes; variants are the same for all
  bool ignore_orientation = false;
  int num_threads = 0;  ///< 0: all cores
};

class FrozenFeatures {
 public:
  /// Keeps a reference to the pictures.
  FrozenFeatures(const std::vector<std::filesystem::path>& pictures,
                 FrozenSource source,
                 FrozenOptions options);

  /// Computes variants 0 to `variants` of all pictures that are not in the cache, a picture a core,
  /// and reads the bytes of each file once. Pictures that cannot be read are reported. Throws
  /// Interrupted on a requested stop; what is done is in the cache. From pixels, it only tries
  /// whether pictures can be read.
  std::vector<Failure> prepare(int variants,
                               const ProgressCallback& progress = {},
                               std::stop_token stop = {});
  /// The same of pictures `first` to before `end`.
  std::vector<Failure> prepare(int variants,
                               int first,
                               int end,
                               const ProgressCallback& progress = {},
                               std::stop_token stop = {});

  /// Fills everything but labels, in the memory that `batch` has: a run asks for thousands of the
  /// same size. What is not in the cache is computed and kept. Pictures that cannot be read are
  /// reported; the batch is then as it was. Patches that are drawn stand in one column.
  [[nodiscard]] std::vector<Failure> fill(std::span<const PictureVariant> wanted,
                                          TrainBatch& batch,
                                          const PatchDraw& draw = {}) const;

  /// The same of pictures augmented for this epoch alone, one that is wanted again otherwise each
  /// time; nothing is kept.
  [[nodiscard]] std::vector<Failure> fill_fresh(std::span<const int> pictures,
                                                int epoch,
                                                TrainBatch& batch) const;

 private:
  /// Values of one picture, in memory or where they lie in the cache.
  struct Entry {
    int height = 0;
    int width = 0;
    int channels = 0;
    Tensor values;  ///< rows of `channels`: those that are no patches first

    int rows() const { return static_cast<int>(values.size() / std::max(channels, 1)); }
    /// With some of the patches only.
    Entry drawn(const PatchDraw& draw, const PictureVariant& own) const;
  };

  Image load(int picture) const;
  std::string content(int picture) const;
  FeatureCache cache(int variant) const;
  EntryValues run(const Image& picture) const;
  /// Of a picture in a variant; its content chooses the augmentation.
  EntryValues make(const Image& picture, const std::string& content, int variant) const;
  /// The same, kept and as the cache gives it.
  Entry make_and_keep(const Image& picture, const std::string& content, int variant) const;
  void prepare_one(int picture, int variants);
  Entry entry(const PictureVariant& wanted) const;
  Entry fresh_entry(const PictureVariant& wanted, int epoch) const;
  std::vector<Failure> fill_with(std::span<const PictureVariant> wanted,
                                 const std::function<Entry(const PictureVariant&)>& make,
                                 TrainBatch& batch) const;
  void fill_from(std::span<const Entry> entries, TrainBatch& batch) const;

  const std::vector<std::filesystem::path>& pictures_;
  FrozenSource source_;
  FrozenOptions options_;
  Preprocessing preprocessing_;        ///< to the size of all variants
  std::vector<std::string> contents_;  ///< sha256 of the files; empty: not read yet
};

}  // namespace ria
