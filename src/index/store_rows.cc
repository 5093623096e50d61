// SPDX-License-Identifier: MIT
// Descriptors: blocks and the tail.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "index/store.h"
#include "structure/checksum.h"

namespace ria {

namespace {

template <typename T>
std::span<const std::uint8_t> bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

std::int64_t tail_checksum(int place, float scale, std::span<const std::uint8_t> row) {
  return Checksum().add_value(place).add_value(scale).add(row).value();
}

}  // namespace

std::int64_t MapStore::block_checksum(std::span<const std::int32_t> places,
                                      std::span<const float> scales,
                                      std::span<const std::uint8_t> data) const {
  return Checksum().add(data).add(places).add(scales).value();
}

MapStore::Block MapStore::block_of(const Statement& row) const {
  Block block;
  block.first = row.integer_in(0, 0, kLargestNumber);
  block.last = row.integer_in(1, block.first, kLargestNumber);
  block.places = row.values<std::int32_t>(3);
  block.scales = row.values<float>(4);
  block.dead = row.integer_in(2, 0, std::ssize(block.places));
  block.checksum = row.integer(5);
  if (block.places.empty() || block.places.size() != block.scales.size() ||
      block.places.front() != block.first || block.places.back() != block.last ||
      std::ssize(block.places) > block_rows_ ||
      !std::ranges::is_sorted(block.places, std::ranges::less_equal{})) {
    database_.damaged(fmt::format("block {}", block.first));
  }
  return block;
}

std::vector<int> MapStore::live(int first, int last) const {
  Statement row = database_.prepare("SELECT id FROM place WHERE id BETWEEN ? AND ? ORDER BY id");
  row.bind(std::int64_t{first}).bind(std::int64_t{last});
  std::vector<int> places;
  while (row.step()) places.push_back(row.integer_in(0, 0, kLargestNumber));
  return places;
}

EncodedRows MapStore::read_block(const Block& block) const {
  const std::size_t size = block.places.size() * form_.row_bytes();
  if (database_.blob_size("block_row", block.first) != size) {
    database_.damaged(fmt::format("block {}", block.first));
  }
  EncodedRows rows{std::vector<std::uint8_t>(size), block.scales};
  database_.read_blob("block_row", block.first, 0, rows.data);
  if (!same_checksum(block_checksum(block.places, block.scales, rows.data), block.checksum)) {
    database_.damaged(fmt::format("block {}", block.first));
  }
  return rows;
}

void MapStore::append_live(const Block& block,
                           int behind,
                           EncodedRows& rows,
                           std::vector<int>& places) const {
  const EncodedRows all = read_block(block);
  const std::vector<int> wanted = live(std::max(block.first, behind + 1), block.last);
  for (int i = 0; i < all.count(); ++i) {
    if (!std::ranges::binary_search(wanted, block.places[i])) continue;
    places.push_back(block.places[i]);
    rows.append(all, i, form_);
  }
}

MapStore::Block MapStore::block_before(int place) const {
  Statement row = database_.prepare(
      "SELECT id, last, dead, places, scales, checksum FROM block WHERE id <= ? ORDER BY id DESC "
      "LIMIT 1");
  return row.bind(std::int64_t{place}).step() ? block_of(row) : Block{};
}

void MapStore::read_tail(int behind, int last, EncodedRows& rows, std::vector<int>& places) const {
  Statement row = database_.prepare(
      "SELECT id, scale, data, checksum FROM tail WHERE id > ? AND id <= ? ORDER BY id");
  row.bind(std::int64_t{behind}).bind(std::int64_t{last});
  while (row.step()) {
    const int place = row.integer_in(0, 0, kLargestNumber);
    const auto scale = static_cast<float>(row.real(1));
    const std::span<const std::uint8_t> data = row.bytes(2);
    if (data.size() != form_.row_bytes() ||
        !same_checksum(tail_checksum(place, scale, data), row.integer(3))) {
      database_.damaged(fmt::format("the descriptor of place {}", place));
    }
    places.push_back(place);
    rows.scales.push_back(scale);
    rows.data.insert(rows.data.end(), data.begin(), data.end());
  }
}

EncodedRows MapStore::get_rows(std::span<const int> places) const {
  EncodedRows found, of_block;
  Block block;
  for (const int place : places) {
    if (!has(place)) throw std::invalid_argument(fmt::format("the map has no place {}", place));
    if (block.places.empty() || place < block.first || place > block.last) {
      block = block_before(place);
      of_block = place <= block.last && !block.places.empty() ? read_block(block) : EncodedRows{};
    }
    if (of_block.count() == 0) {
      of_block = {};
      block = {};
      read_tail(place - 1, place, of_block, block.places);
      block.first = block.last = place;
    }
    const auto at = std::ranges::lower_bound(block.places, place) - block.places.begin();
    if (at == std::ssize(block.places) || block.places[at] != place) {
      database_.damaged(fmt::format("place {} has no descriptor", place));
    }
    found.append(of_block, static_cast<int>(at), form_);
  }
  return found;
}

void MapStore::write_block(std::span<const int> places,
                           std::span<const float> scales,
                           const std::uint8_t* data) {
  const std::span<const std::uint8_t> rows(data, places.size() * form_.row_bytes());
  database_.prepare("INSERT INTO block VALUES (?, ?, 0, ?, ?, ?)")
      .bind(std::int64_t{places.front()})
      .bind(std::int64_t{places.back()})
      .bind(bytes_of(places))
      .bind(bytes_of(scales))
      .bind(block_checksum(places, scales, rows))
      .run();
  database_.prepare("INSERT INTO block_row VALUES (?, ?)")
      .bind(std::int64_t{places.front()})
      .bind(rows)
      .run();
}

void MapStore::write_tail(int place, float scale, const std::uint8_t* row) {
  const std::span<const std::uint8_t> data(row, form_.row_bytes());
  database_.prepare("INSERT INTO tail VALUES (?, ?, ?, ?)")
      .bind(std::int64_t{place})
      .bind(static_cast<double>(scale))
      .bind(data)
      .bind(tail_checksum(place, scale, data))
      .run();
}

void MapStore::insert_rows(std::span<const int> numbers, const EncodedRows& rows) {
  Statement tail = database_.prepare("SELECT count(*) FROM tail");
  tail.step();
  const int waiting = tail.integer_in(0, 0, kLargestNumber);
  if (waiting + rows.count() < block_rows_) {
    for (int i = 0; i < rows.count(); ++i) {
      write_tail(numbers[i], rows.scales[i], rows.row(i, form_));
    }
    return;
  }
  // Whole blocks of what waits and what comes; the rest waits.
  EncodedRows waited;
  std::vector<int> places;
  if (waiting > 0) {
    read_tail(-1, kLargestNumber, waited, places);
    database_.run("DELETE FROM tail");
  }
  const EncodedRows* all = &rows;
  if (!places.empty()) {
    places.insert(places.end(), numbers.begin(), numbers.end());
    waited.scales.insert(waited.scales.end(), rows.scales.begin(), rows.scales.end());
    waited.data.insert(waited.data.end(), rows.data.begin(), rows.data.end());
    numbers = places;
    all = &waited;
  }
  const std::span<const float> scales(all->scales);
  int done = 0;
  for (; done + block_rows_ <= all->count(); done += block_rows_) {
    write_block(numbers.subspan(done, block_rows_),
                scales.subspan(done, block_rows_),
                all->row(done, form_));
  }
  for (; done < all->count(); ++done) {
    write_tail(numbers[done], scales[done], all->row(done, form_));
  }
}

void MapStore::wait_for_block(int number, const EncodedRows& rows, int i) {
  waiting_places_.push_back(number);
  waiting_.append(rows, i, form_);
  if (waiting_.count() < block_rows_) return;
  write_block(waiting_places_, waiting_.scales, waiting_.data.data());
  waiting_places_.clear();
  waiting_ = {};
}

void MapStore::finish() {
  for (int i = 0; i < waiting_.count(); ++i) {
    write_tail(waiting_places_[i], waiting_.scales[i], waiting_.row(i, form_));
  }
}

void MapStore::drop_block(int first) {
  database_.prepare("DELETE FROM block WHERE id = ?").bind(std::int64_t{first}).run();
  database_.prepare("DELETE FROM block_row WHERE id = ?").bind(std::int64_t{first}).run();
}

/// The place is gone; its row follows when half of its block is such rows.
void MapStore::bury(int place) {
  database_.prepare("DELETE FROM tail WHERE id = ?").bind(std::int64_t{place}).run();
  Block block = block_before(place);
  if (!std::ranges::binary_search(block.places, place)) return;
  ++block.dead;
  database_.prepare("UPDATE block SET dead = ? WHERE id = ?")
      .bind(std::int64_t{block.dead})
      .bind(std::int64_t{block.first})
      .run();
  if (2 * block.dead > std::ssize(block.places)) shrink(block);
}

/// The live rows of a block in a block of their own, with those of the one before it if they fit.
void MapStore::shrink(const Block& block) {
  std::vector<Block> blocks{block};
  Block before = block_before(block.first - 1);
  const auto lives = [](const Block& one) { return std::ssize(one.places) - one.dead; };
  if (!before.places.empty() && lives(before) + lives(block) <= block_rows_) {
    blocks.insert(blocks.begin(), std::move(before));
  }
  EncodedRows kept;
  std::vector<int> places;
  for (const Block& one : blocks) {
    append_live(one, -1, kept, places);
    drop_block(one.first);
  }
  if (!places.empty()) write_block(places, kept.scales, kept.data.data());
}

}  // namespace ria
