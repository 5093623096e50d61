// SPDX-License-Identifier: MIT
// All descriptors of a map, from the file to where they are searched.
#include <fmt/format.h>

#include <atomic>
#include <optional>

#include "index/store.h"
#include "structure/checksum.h"
#include "util/parallel.h"

namespace ria {

namespace {

constexpr std::size_t kWorthThreads = std::size_t{32} << 20;  // bytes

}  // namespace

/// A block that goes to memory as it is, and where to.
struct MapStore::Whole {
  Block block;
  std::vector<std::span<std::uint8_t>> parts;
  bool done = false;

  /// False: these are not the bytes that the block had.
  bool read(const Database& database) {
    Checksum checksum;
    std::size_t offset = 0;
    for (const std::span<std::uint8_t> part : parts) {
      database.read_blob("block_row", block.first, offset, part);
      checksum.add(part.data(), part.size());
      offset += part.size();
    }
    checksum.add(std::span<const std::int32_t>(block.places));
    checksum.add(std::span<const float>(block.scales));
    return same_checksum(checksum.value(), block.checksum);
  }
};

void MapStore::read_rows(Rows& rows) const {
  std::vector<Whole> wholes;
  {
    Statement row = database_.prepare(
        "SELECT id, last, dead, places, scales, checksum FROM block WHERE last > ? ORDER BY id");
    row.bind(std::int64_t{rows.last_place()});
    while (row.step()) {
      Block block = block_of(row);
      const int behind = rows.last_place();
      if (block.last <= behind) database_.damaged(fmt::format("block {}", block.first));
      if (block.dead == 0 && block.first > behind) {
        wholes.push_back(make_room(std::move(block), rows));
        continue;
      }
      EncodedRows some;
      std::vector<int> places;
      append_live(block, behind, some, places);
      rows.add(some, places);
    }
  }
  EncodedRows tail;
  std::vector<int> places;
  read_tail(rows.last_place(), kLargestNumber, tail, places);
  rows.add(tail, places);
  fill(wholes);
}

MapStore::Whole MapStore::make_room(Block block, Rows& rows) const {
  Whole whole;
  const auto count = static_cast<int>(block.places.size());
  for (int done = 0; done < count;) {
    whole.parts.push_back(rows.room(count - done));
    const auto some = static_cast<int>(whole.parts.back().size() / form_.row_bytes());
    rows.keep(std::span(block.places).subspan(done, some),
              std::span(block.scales).subspan(done, some));
    done += some;
  }
  whole.block = std::move(block);
  return whole;
}

/// By several connections at once where it is much. The others may see a newer state of the file:
/// what does not fit there is read again by this one.
void MapStore::fill(std::vector<Whole>& wholes) const {
  std::size_t bytes = 0;
  for (const Whole& whole : wholes) bytes += whole.block.places.size() * form_.row_bytes();
  const int workers = bytes > kWorthThreads ? resolve_threads(0) : 1;
  std::atomic<std::size_t> next{0};
  parallel_for(workers, workers, [&](int worker) {
    std::optional<Database> own;
    try {
      if (worker > 0) own.emplace(database_.file(), Database::Mode::kRead);
      const Database& from = own ? *own : database_;
      for (std::size_t i = next++; i < wholes.size(); i = next++) {
        wholes[i].done = wholes[i].read(from);
      }
    } catch (const std::runtime_error&) {
    }
  });
  for (Whole& whole : wholes) {
    if (!whole.done && !whole.read(database_)) {
      database_.damaged(fmt::format("block {}", whole.block.first));
    }
  }
}

}  // namespace ria
