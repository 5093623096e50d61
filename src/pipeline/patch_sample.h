// SPDX-License-Identifier: MIT
// As many patches of many pictures as a bound allows, the same number of each.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "aggregate/kmeans.h"

namespace ria {

/// The patches of a picture have an order that the seed and the picture's number alone decide, and
/// the first `quota` of them are held. The quota starts without a limit; when a picture does not
/// fit it falls to the largest number with which all do, and the patches behind it are let go. So
/// the quota, and what is held in the end, do not depend on the order in which pictures come.
class PatchSample final : public RowSource {
 public:
  /// At most `capacity` patches, which must be no less than the number of pictures.
  PatchSample(int pictures, int dim, std::int64_t capacity, std::uint32_t seed);

  /// Bytes for each patch and each picture.
  static std::uint64_t patch_bytes(int dim);
  static std::uint64_t picture_bytes();

  /// Which of a picture's patches to hand to add(), in the order they must have there.
  std::vector<std::int64_t> choose(int picture, std::int64_t patches) const;

  /// Holds rows of a picture, of whose patches they are the first ones. Called from any thread,
  /// once a picture.
  void add(int picture, std::int64_t patches, std::span<const float> rows);

  /// The rows held of a picture, in their order.
  std::vector<float> rows_of(int picture) const;

  std::int64_t patches_of(int picture) const;
  /// Whether a patch was left out.
  bool drawn() const { return quota_ < kNoLimit; }
  std::int64_t quota() const { return quota_; }

  /// All pictures are there: from now on the rows can be read, picture after picture.
  void seal();
  std::int64_t rows() const override { return static_cast<std::int64_t>(order_.size()); }
  int dim() const override { return dim_; }
  void read(std::int64_t begin, Matrix& out) const override;

 private:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = ~Slot{0};
  static constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;

  /// The rows of a picture are a list of slots, the last row first: letting the last go is cheap.
  struct Picture {
    Slot last = kNone;
    std::uint32_t held = 0;
    std::uint32_t patches = 0;
  };
  /// Memory grows by these, so that a large bound costs nothing while it is not used.
  struct Chunk {
    std::unique_ptr<float[]> rows;
    std::unique_ptr<Slot[]> before;
  };

  float* row(Slot slot) const;
  Slot& before(Slot slot) const;
  Slot new_slot();
  void drop_last(Picture& picture);
  std::int64_t held_with(std::int64_t quota, std::int64_t more) const;
  void make_room(std::int64_t more);

  const int dim_;
  const std::int64_t capacity_;
  const std::uint32_t seed_;
  const Slot chunk_rows_;
  mutable std::mutex mutex_;
  std::int64_t quota_ = kNoLimit;
  std::int64_t held_ = 0;
  std::vector<Picture> pictures_;
  std::vector<Chunk> chunks_;
  std::int64_t made_ = 0;  // slots that were ever used
  Slot free_ = kNone;      // list of slots to use again
  std::vector<Slot> order_;
};

}  // namespace ria
