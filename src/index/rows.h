// SPDX-License-Identifier: MIT
// The descriptors of a map in memory, for searching.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/codec.h"
#include "util/aligned.h"

namespace ria {

/// Rows in the order of their places, in pieces of some megabytes: growing moves nothing.
class Rows {
 public:
  /// Of the places behind one.
  explicit Rows(const RowForm& form, int behind = -1);

  struct Piece {
    AlignedBuffer<std::uint8_t> data;
    std::vector<float> scales;
    std::vector<std::int32_t> places;

    int count() const { return static_cast<int>(places.size()); }
  };

  const RowForm& form() const { return form_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  int size() const;
  /// The last place, or the one before the first that may come.
  int last_place() const { return pieces_.empty() ? behind_ : pieces_.back().places.back(); }

  /// Memory behind the last row for at least one more, and at most for `wanted`. What is written
  /// there counts from keep() on.
  std::span<std::uint8_t> room(int wanted);
  /// The next rows, which are in room(): their places, each larger than all before, and scales.
  void keep(std::span<const std::int32_t> places, std::span<const float> scales);
  void add(const EncodedRows& rows, std::span<const std::int32_t> places);
  /// `places` in rising order; those that are not here are no error.
  void remove(std::span<const int> places);

  std::vector<int> places() const;
  /// Throws std::invalid_argument for a place that is not here.
  EncodedRows get(std::span<const int> places) const;

 private:
  std::uint8_t* row(const Piece& piece, int i) const {
    return piece.data.data() + static_cast<std::size_t>(i) * form_.row_bytes();
  }
  void erase(Piece& piece, std::span<const int> places);
  void join_small();

  RowForm form_;
  int behind_;
  int piece_rows_;
  AlignedBuffer<std::uint8_t> next_;  ///< the piece that room() has opened and keep() will begin
  std::vector<Piece> pieces_;
};

}  // namespace ria
