// SPDX-License-Identifier: MIT
#include "pipeline/patch_sample.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "util/random.h"

namespace ria {

namespace {

constexpr std::size_t kChunkBytes = 4 << 20;

}  // namespace

PatchSample::PatchSample(int pictures, int dim, std::int64_t capacity, std::uint32_t seed)
    : dim_(dim),
      capacity_(std::min<std::int64_t>(capacity, kNone)),
      seed_(seed),
      chunk_rows_(static_cast<Slot>(std::max<std::size_t>(kChunkBytes / sizeof(float) / dim, 1))),
      pictures_(static_cast<std::size_t>(pictures)) {}

std::uint64_t PatchSample::patch_bytes(int dim) {
  return static_cast<std::uint64_t>(dim) * sizeof(float) + 2 * sizeof(Slot);  // before and order_
}

std::uint64_t PatchSample::picture_bytes() { return sizeof(Picture); }

std::vector<std::int64_t> PatchSample::choose(int picture, std::int64_t patches) const {
  std::int64_t wanted = 0;
  {
    const std::lock_guard lock(mutex_);
    wanted = std::min(quota_, patches);
  }
  // The first steps of a Fisher-Yates shuffle: fewer steps give a beginning of the same order.
  SplitMix64 random((static_cast<std::uint64_t>(seed_) << 32) ^
                    static_cast<std::uint64_t>(picture));
  std::vector<std::int64_t> order(static_cast<std::size_t>(patches));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const auto left = static_cast<std::uint64_t>(patches - i);
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(i) + random.below(left)]);
  }
  order.resize(static_cast<std::size_t>(wanted));
  return order;
}

void PatchSample::add(int number, std::int64_t patches, std::span<const float> rows) {
  const std::lock_guard lock(mutex_);
  const auto given = static_cast<std::int64_t>(rows.size()) / dim_;
  if (held_ + std::min(given, quota_) > capacity_) make_room(given);
  Picture& picture = pictures_[static_cast<std::size_t>(number)];
  picture.patches = static_cast<std::uint32_t>(patches);
  for (std::int64_t i = 0; i < std::min(given, quota_); ++i) {
    const Slot slot = new_slot();
    std::memcpy(row(slot), rows.data() + i * dim_, static_cast<std::size_t>(dim_) * sizeof(float));
    before(slot) = picture.last;
    picture.last = slot;
    ++picture.held;
    ++held_;
  }
}

/// Patches held if the quota were this and a picture with `more` patches were there.
std::int64_t PatchSample::held_with(std::int64_t quota, std::int64_t more) const {
  std::int64_t sum = std::min(quota, more);
  for (const Picture& picture : pictures_) sum += std::min<std::int64_t>(quota, picture.held);
  return sum;
}

void PatchSample::make_room(std::int64_t more) {
  std::int64_t fits = 0, too_many = std::min<std::int64_t>(quota_, capacity_ + 1);
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (held_with(middle, more) <= capacity_ ? fits : too_many) = middle;
  }
  quota_ = fits;
  for (Picture& picture : pictures_) {
    while (picture.held > quota_) drop_last(picture);
  }
}

void PatchSample::drop_last(Picture& picture) {
  const Slot slot = picture.last;
  picture.last = before(slot);
  before(slot) = free_;
  free_ = slot;
  --picture.held;
  --held_;
}

PatchSample::Slot PatchSample::new_slot() {
  if (free_ != kNone) {
    const Slot slot = free_;
    free_ = before(slot);
    return slot;
  }
  if (made_ == static_cast<std::int64_t>(chunks_.size()) * chunk_rows_) {
    const auto size =
        static_cast<std::size_t>(std::min<std::int64_t>(chunk_rows_, capacity_ - made_));
    chunks_.push_back(
        {std::make_unique_for_overwrite<float[]>(size * static_cast<std::size_t>(dim_)),
         std::make_unique_for_overwrite<Slot[]>(size)});
  }
  return static_cast<Slot>(made_++);
}

float* PatchSample::row(Slot slot) const {
  return &chunks_[slot / chunk_rows_]
              .rows[static_cast<std::size_t>(slot % chunk_rows_) * static_cast<std::size_t>(dim_)];
}

PatchSample::Slot& PatchSample::before(Slot slot) const {
  return chunks_[slot / chunk_rows_].before[slot % chunk_rows_];
}

std::vector<float> PatchSample::rows_of(int number) const {
  const std::lock_guard lock(mutex_);
  const Picture& picture = pictures_[static_cast<std::size_t>(number)];
  std::vector<float> rows(static_cast<std::size_t>(picture.held) * static_cast<std::size_t>(dim_));
  float* end = rows.data() + rows.size();
  for (Slot slot = picture.last; slot != kNone; slot = before(slot)) {
    end -= dim_;
    std::memcpy(end, row(slot), static_cast<std::size_t>(dim_) * sizeof(float));
  }
  return rows;
}

std::int64_t PatchSample::patches_of(int picture) const {
  const std::lock_guard lock(mutex_);
  return pictures_[static_cast<std::size_t>(picture)].patches;
}

void PatchSample::seal() {
  const std::lock_guard lock(mutex_);
  order_.clear();
  order_.reserve(static_cast<std::size_t>(held_));
  for (const Picture& picture : pictures_) {
    for (Slot slot = picture.last; slot != kNone; slot = before(slot)) order_.push_back(slot);
  }
}

void PatchSample::read(std::int64_t begin, Matrix& out) const {
  for (int i = 0; i < out.rows(); ++i) {
    std::memcpy(out.row(i).data(),
                row(order_[static_cast<std::size_t>(begin + i)]),
                static_cast<std::size_t>(dim_) * sizeof(float));
  }
}

}  // namespace ria
