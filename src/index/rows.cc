// SPDX-License-Identifier: MIT
#include "index/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace ria {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{8} << 20;  // whole huge pages

}  // namespace

Rows::Rows(const RowForm& form, int behind)
    : form_(form),
      behind_(behind),
      piece_rows_(static_cast<int>(std::max<std::size_t>(1, kPieceBytes / form.row_bytes()))) {}

int Rows::size() const {
  int count = 0;
  for (const Piece& piece : pieces_) count += piece.count();
  return count;
}

std::span<std::uint8_t> Rows::room(int wanted) {
  const bool full = pieces_.empty() || pieces_.back().count() == piece_rows_;
  if (full && next_.size() == 0) {
    next_ = AlignedBuffer<std::uint8_t>(static_cast<std::size_t>(piece_rows_) * form_.row_bytes());
  }
  const int used = full ? 0 : pieces_.back().count();
  std::uint8_t* begin = full ? next_.data() : row(pieces_.back(), used);
  const int rows = std::min(wanted, piece_rows_ - used);
  return {begin, static_cast<std::size_t>(rows) * form_.row_bytes()};
}

void Rows::keep(std::span<const std::int32_t> places, std::span<const float> scales) {
  if (places.empty()) return;
  if (next_.size() > 0) pieces_.push_back({std::move(next_), {}, {}});
  next_ = {};
  Piece& piece = pieces_.back();
  piece.places.insert(piece.places.end(), places.begin(), places.end());
  piece.scales.insert(piece.scales.end(), scales.begin(), scales.end());
}

void Rows::add(const EncodedRows& rows, std::span<const std::int32_t> places) {
  const std::span<const float> scales(rows.scales);
  for (int done = 0; done < rows.count();) {
    const std::span<std::uint8_t> to = room(rows.count() - done);
    const auto count = static_cast<int>(to.size() / form_.row_bytes());
    std::memcpy(to.data(),
                rows.data.data() + static_cast<std::size_t>(done) * form_.row_bytes(),
                to.size());
    keep(places.subspan(done, count), scales.subspan(done, count));
    done += count;
  }
}

void Rows::erase(Piece& piece, std::span<const int> places) {
  int kept = 0;
  for (int i = 0; i < piece.count(); ++i) {
    if (std::binary_search(places.begin(), places.end(), piece.places[i])) continue;
    if (kept < i) {
      std::memcpy(row(piece, kept), row(piece, i), form_.row_bytes());
      piece.places[kept] = piece.places[i];
      piece.scales[kept] = piece.scales[i];
    }
    ++kept;
  }
  piece.places.resize(kept);
  piece.scales.resize(kept);
}

void Rows::remove(std::span<const int> places) {
  for (Piece& piece : pieces_) {
    const auto first = std::ranges::lower_bound(places, piece.places.front());
    if (first != places.end() && *first <= piece.places.back()) erase(piece, places);
  }
  std::erase_if(pieces_, [](const Piece& piece) { return piece.count() == 0; });
  join_small();
}

/// Neighbours that fit into one piece become one: memory follows the number of places.
void Rows::join_small() {
  std::vector<Piece> joined;
  for (Piece& piece : pieces_) {
    if (joined.empty() || joined.back().count() + piece.count() > piece_rows_) {
      joined.push_back(std::move(piece));
      continue;
    }
    Piece& to = joined.back();
    std::memcpy(row(to, to.count()),
                piece.data.data(),
                static_cast<std::size_t>(piece.count()) * form_.row_bytes());
    to.places.insert(to.places.end(), piece.places.begin(), piece.places.end());
    to.scales.insert(to.scales.end(), piece.scales.begin(), piece.scales.end());
  }
  pieces_ = std::move(joined);
}

std::vector<int> Rows::places() const {
  std::vector<int> all;
  for (const Piece& piece : pieces_)
    all.insert(all.end(), piece.places.begin(), piece.places.end());
  return all;
}

EncodedRows Rows::get(std::span<const int> places) const {
  EncodedRows rows;
  for (const int place : places) {
    const auto piece =
        std::ranges::find_if(pieces_, [&](const Piece& one) { return one.places.back() >= place; });
    const auto at = piece == pieces_.end() ? std::vector<std::int32_t>::const_iterator{}
                                           : std::ranges::lower_bound(piece->places, place);
    if (piece == pieces_.end() || *at != place) {
      throw std::invalid_argument(fmt::format("the map has no place {}", place));
    }
    const auto i = static_cast<int>(at - piece->places.begin());
    rows.data.insert(rows.data.end(), row(*piece, i), row(*piece, i) + form_.row_bytes());
    rows.scales.push_back(piece->scales[i]);
  }
  return rows;
}

}  // namespace ria
