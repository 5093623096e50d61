// SPDX-License-Identifier: MIT
// Single descriptors out of blocks. SQLite finds the middle of a large value by reading everything
// before it; where a block's pages follow each other, as they do in a map that was built, their
// numbers are kept with the search structure and a row is read from where it is.
// (Format: sqlite.org/fileformat2.html, "B-tree Pages" and "Overflow Pages".)
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "index/store.h"

namespace ria {

namespace {

constexpr int kLinkBytes = 4;  // at the start of an overflow page: number of the next
constexpr std::uint8_t kInterior = 5, kLeaf = 13;

std::uint32_t big_endian(const std::uint8_t* bytes, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

/// Bytes of a page that nobody vouches for.
class Page {
 public:
  Page(const Database& database, std::uint32_t number) : bytes_(database.page_bytes()) {
    const auto size = static_cast<std::int64_t>(bytes_.size());
    good = number > 1 && database.read_file((std::int64_t{number} - 1) * size, bytes_);
  }

  bool good;
  std::uint32_t number(std::size_t at, int count) {
    if (at + static_cast<std::size_t>(count) > bytes_.size()) good = false;
    return good ? big_endian(bytes_.data() + at, count) : 0;
  }
  /// And moves behind it.
  std::uint64_t varint(std::size_t& at) {
    std::uint64_t value = 0;
    for (int i = 0; i < 9; ++i) {
      const std::uint32_t byte = number(at++, 1);
      value = i == 8 ? value << 8 | byte : value << 7 | (byte & 127);
      if (byte < 128) break;
    }
    return value;
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// How a value of a table is cut: so many bytes beside its key, the others in overflow pages.
struct Cut {
  std::size_t beside, a_page;
};
Cut cut_of(std::size_t payload, std::size_t page) {
  const std::size_t most = page - 35, least = (page - 12) * 32 / 255 - 23;
  const std::size_t beside = least + (payload - least) % (page - kLinkBytes);
  return {payload <= most ? payload : beside <= most ? beside : least, page - kLinkBytes};
}

/// What stands before the data of (id INTEGER PRIMARY KEY, data BLOB).
std::size_t record_header(std::size_t data) {
  std::size_t bytes = 2;  // its own length, and no value for the key
  for (std::uint64_t type = 2 * data + 12; bytes == 2 || type > 0; type >>= 7) ++bytes;
  return bytes;
}

/// The first overflow page of a row; 0: not found.
std::uint32_t overflow_of(const Database& database, std::uint32_t page, std::int64_t key) {
  for (int depth = 0; depth < 20; ++depth) {
    Page here(database, page);
    const std::uint32_t kind = here.number(0, 1), cells = here.number(3, 2);
    if (!here.good || (kind != kInterior && kind != kLeaf)) return 0;
    page = kind == kInterior ? here.number(8, 4) : 0;
    for (std::uint32_t cell = 0; cell < cells && here.good; ++cell) {
      std::size_t at = here.number((kind == kInterior ? 12 : 8) + 2 * cell, 2);
      const std::uint32_t child = kind == kInterior ? here.number(at, 4) : 0;
      const std::uint64_t payload = kind == kInterior ? (at += 4, 0) : here.varint(at);
      const auto row = static_cast<std::int64_t>(here.varint(at));
      if (kind == kInterior && key <= row) {
        page = child;
        break;
      }
      if (kind == kInterior || key != row) continue;
      const Cut cut = cut_of(payload, here.size());
      return payload > cut.beside ? here.number(at + cut.beside, 4) : 0;
    }
    if (!here.good || page == 0) return 0;
  }
  return 0;
}

}  // namespace

std::vector<SearchBlock> MapStore::blocks() const {
  Statement row = database_.prepare("SELECT id, last, checksum FROM block ORDER BY id");
  std::vector<SearchBlock> blocks;
  while (row.step()) {
    const int first = row.integer_in(0, 0, kLargestNumber);
    blocks.push_back({first, row.integer_in(1, first, kLargestNumber), row.integer(2), 0, 0});
  }
  return blocks;
}

bool MapStore::has_block(const SearchBlock& block) const {
  Statement row = database_.prepare("SELECT last, checksum FROM block WHERE id = ?");
  return row.bind(std::int64_t{block.first}).step() && row.integer(0) == block.last &&
         row.integer(1) == block.checksum;
}

/// Where the pages of a block begin, if they follow each other and hold what it holds.
std::uint32_t MapStore::find_pages(const Block& block, std::span<const std::uint8_t> data) const {
  Statement root = database_.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'block_row'");
  if (!root.step()) return 0;
  const std::uint32_t first =
      overflow_of(database_, static_cast<std::uint32_t>(root.integer(0)), block.first);
  const auto page = static_cast<std::size_t>(database_.page_bytes());
  const std::size_t header = record_header(data.size());
  const Cut cut = cut_of(header + data.size(), page);
  if (first == 0 || cut.beside < header || cut.beside >= header + data.size()) return 0;
  std::span<const std::uint8_t> rest = data.subspan(cut.beside - header);
  const std::size_t count = (rest.size() + cut.a_page - 1) / cut.a_page;
  std::vector<std::uint8_t> pages(count * page);
  if (!database_.read_file((std::int64_t{first} - 1) * static_cast<std::int64_t>(page), pages)) {
    return 0;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* at = pages.data() + i * page;
    const std::uint32_t next = i + 1 < count ? first + static_cast<std::uint32_t>(i) + 1 : 0;
    const std::size_t some = std::min(rest.size(), cut.a_page);
    if (big_endian(at, kLinkBytes) != next ||
        std::memcmp(at + kLinkBytes, rest.data(), some) != 0) {
      return 0;
    }
    rest = rest.subspan(some);
  }
  return first;
}

MapStore::LiveBlock MapStore::live_block(const SearchBlock& key) const {
  LiveBlock found;
  const Block block = block_before(key.first);
  if (block.places.empty() || block.first != key.first || block.checksum != key.checksum) {
    return found;
  }
  const EncodedRows all = read_block(block);
  found.block = key;
  const auto rows = static_cast<int>(block.places.size());
  if (block.last - block.first + 1 == rows) {
    found.block.rows = rows;
    found.block.page = find_pages(block, all.data);
  }
  const std::vector<int> living = live(block.first, block.last);
  for (int i = 0; i < rows; ++i) {
    if (!std::ranges::binary_search(living, block.places[i])) continue;
    found.places.push_back(block.places[i]);
    found.rows.append(all, i, form_);
  }
  return found;
}

void MapStore::read_row(const SearchBlock& block, int place, std::span<std::uint8_t> to) const {
  const std::size_t size = static_cast<std::size_t>(block.rows) * form_.row_bytes();
  const std::size_t at = static_cast<std::size_t>(place - block.first) * form_.row_bytes();
  const auto page = static_cast<std::size_t>(database_.page_bytes());
  const std::size_t header = record_header(size);
  const Cut cut = cut_of(header + size, page);
  if (block.page == 0 || header + at < cut.beside) {
    return database_.read_blob("block_row", block.first, at, to);
  }
  // All pages the row touches, in one read.
  const std::size_t from = header + at - cut.beside, last = from + to.size() - 1;
  const std::size_t first_page = from / cut.a_page, end_page = last / cut.a_page + 1;
  const std::size_t skipped = from % cut.a_page + kLinkBytes;
  std::vector<std::uint8_t> bytes((end_page - first_page - 1) * page + last % cut.a_page + 1 +
                                  kLinkBytes - skipped);
  const auto offset = static_cast<std::int64_t>((block.page - 1 + first_page) * page + skipped);
  if (!database_.read_file(offset, bytes)) {
    database_.damaged(fmt::format("block {}", block.first));
  }
  std::size_t in = 0, left = cut.a_page - from % cut.a_page;
  for (std::size_t done = 0; done < to.size(); left = cut.a_page) {
    const std::size_t some = std::min(left, to.size() - done);
    std::memcpy(to.data() + done, bytes.data() + in, some);
    done += some;
    in += some + kLinkBytes;
  }
}

}  // namespace ria
