// SPDX-License-Identifier: MIT
#include "rerank/bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace ria {

namespace {

constexpr int kMostCells = 1 << 16, kMostWords = 1023;  // what NearestBitsTask counts to

}  // namespace

BitGrid::BitGrid(const PackedLocalFeatures& packed)
    : bytes(packed.bytes.data()),
      words(packed.dim / 32),
      height(packed.grid_height),
      width(packed.grid_width) {
  if (height < 0 || width < 0 || !keeps_signs(packed)) {
    throw std::invalid_argument(
        fmt::format("{} bytes of local features are no grid of {} x {} cells with the signs of {} "
                    "values each (kept by another version: make the index again)",
                    packed.bytes.size(),
                    height,
                    width,
                    packed.dim));
  }
  if (std::int64_t{height} * width > kMostCells || words > kMostWords) {
    throw std::invalid_argument(
        fmt::format("local features of {} x {} cells and {} values, at most {} cells and {} values "
                    "can be compared",
                    height,
                    width,
                    packed.dim,
                    kMostCells,
                    32 * kMostWords));
  }
}

bool BitGrid::flat(int cell) const {
  const std::uint8_t* begin = row(cell);
  return std::all_of(begin, begin + 4 * words, [](std::uint8_t byte) { return byte == 0; });
}

BitMatcher::BitMatcher(const BitGrid& query, const PanelKernels& kernels)
    : query_(query),
      kernels_(kernels),
      lanes_((query.cells() + kernels.lanes - 1) / kernels.lanes * kernels.lanes),
      panels_(static_cast<std::size_t>(lanes_) * query.words),
      of_query_(lanes_) {
  // Past the end the last cell again, which wins nothing.
  for (int lane = 0; lane < lanes_; ++lane) {
    const std::uint8_t* row = query.row(std::min(lane, query.cells() - 1));
    const int first = lane / kernels.lanes * kernels.lanes;
    std::uint32_t* to = panels_.data() + static_cast<std::size_t>(first) * query.words;
    for (int word = 0; word < query.words; ++word) {
      std::memcpy(to + word * kernels.lanes + lane - first, row + 4 * word, 4);
    }
  }
}

std::span<const BitMatch> BitMatcher::match(const BitGrid& place) {
  matches_.clear();
  const int rows = place.cells(), width = kernels_.width;
  if (rows == 0 || lanes_ == 0) return matches_;
  if (place.words != query_.words) {
    throw std::invalid_argument(
        fmt::format("local features of {} and of {} values", 32 * query_.words, 32 * place.words));
  }
  constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  of_place_.reserve(static_cast<std::size_t>(rows) * width);
  std::fill_n(of_place_.data(), static_cast<std::size_t>(rows) * width, kNone);
  std::fill_n(of_query_.data(), lanes_, kNone);
  for (int lane = 0; lane < lanes_; lane += kernels_.lanes) {
    kernels_.nearest_bits({place.bytes,
                           panels_.data() + static_cast<std::size_t>(lane) * query_.words,
                           rows,
                           query_.words,
                           lane,
                           of_place_.data(),
                           of_query_.data() + lane});
  }
  nearest_.resize(rows);
  for (int r = 0; r < rows; ++r) {
    const std::int32_t* partial = of_place_.data() + static_cast<std::size_t>(r) * width;
    nearest_[r] = *std::min_element(partial, partial + width) & 0xffff;
  }
  for (int q = 0; q < query_.cells(); ++q) {
    const int best = of_query_.data()[q], p = best & 0xffff;
    if (nearest_[p] != q || query_.flat(q) || place.flat(p)) continue;
    matches_.push_back({q, p, best >> 16});
  }
  return matches_;
}

}  // namespace ria
