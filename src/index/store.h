// SPDX-License-Identifier: MIT
// A map in its database: what is in which table. Nothing here begins or ends a transaction, but for
// the opening.
#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "index/codec.h"
#include "index/database.h"
#include "index/rows.h"
#include "ria/map.h"
#include "structure/search_file.h"

namespace ria {

/// The largest number a place can have: there is always a next.
inline constexpr int kLargestNumber = std::numeric_limits<int>::max() - 1;

/// What changes as places come and go.
struct MapState {
  int end = 0;      ///< number of the next place
  int removed = 0;  ///< how many of the numbers below no place has
  bool locals = false;

  int size() const { return end - removed; }
};

/// Descriptors lie in blocks of about a megabyte; those that came last, a row each, in the tail,
/// until they fill a block. A place that was removed leaves its row in the block until half of the
/// block is such rows.
class MapStore {
 public:
  /// A new map; messages name it `shown` if that is given.
  MapStore(const std::filesystem::path& file,
           Database::Mode mode,
           const MapHeader& header,
           Storage storage,
           const std::filesystem::path& shown = {});
  /// One that is there.
  MapStore(const std::filesystem::path& file, Access access);

  Database& database() { return database_; }
  const Database& database() const { return database_; }
  const MapHeader& header() const { return header_; }
  const RowForm& form() const { return form_; }
  /// Rows of a whole block.
  int block_rows() const { return block_rows_; }

  MapState state() const;
  std::map<std::string, Matrix> fitted() const;
  void set_fitted(const std::map<std::string, Matrix>& fitted);

  bool has(int place) const;
  Place place(int place) const;
  /// The next places from one on, at most so many; their numbers.
  std::vector<int> places_from(int first, int count, std::vector<Place>& places) const;
  std::vector<int> find(const std::string& name) const;
  PackedLocalFeatures local(int place) const;

  /// Numbers rise and are larger than all before; `locals` is empty or as long.
  void insert(std::span<const int> numbers,
              std::span<const Place> places,
              const EncodedRows& rows,
              std::span<const PackedLocalFeatures> locals);
  /// The end of a map that is built.
  void finish();
  /// Returns how many of them there were.
  int erase(std::span<const int> places);
  /// All places.
  std::vector<int> numbers() const;

  /// Brings behind the last of `rows` what the file has behind it.
  void read_rows(Rows& rows) const;
  EncodedRows get_rows(std::span<const int> places) const;

  /// Which blocks there are; `rows` and `page` are known to live_block() alone.
  std::vector<SearchBlock> blocks() const;
  /// The live rows of a block and where its bytes lie. Without places: it is another by now.
  struct LiveBlock {
    SearchBlock block;
    std::vector<int> places;
    EncodedRows rows;
  };
  LiveBlock live_block(const SearchBlock& block) const;
  bool has_block(const SearchBlock& block) const;
  /// A row of a block that is still as it was, with room for it in `to`: from its pages if they are
  /// known, past all others of the block.
  void read_row(const SearchBlock& block, int place, std::span<std::uint8_t> to) const;

  /// See Map::check().
  std::vector<std::string> check() const;

 private:
  /// What a block says of itself.
  struct Block {
    int first = 0, last = 0, dead = 0;
    std::vector<std::int32_t> places;
    std::vector<float> scales;
    std::int64_t checksum = 0;
  };

  /// A map in memory has its rows in `Rows` alone.
  bool keeps_rows() const { return database_.mode() != Database::Mode::kMemory; }
  void make_tables();
  void count_removed(int count);
  void read_header();
  void refuse_other_files() const;

  Block block_of(const Statement& row) const;
  std::vector<int> live(int first, int last) const;
  EncodedRows read_block(const Block& block) const;
  struct Whole;
  Whole make_room(Block block, Rows& rows) const;
  void fill(std::vector<Whole>& wholes) const;
  /// The last block that begins at this place or before; without places: there is none.
  Block block_before(int place) const;
  /// The rows of live places behind one of a block.
  void append_live(const Block& block,
                   int behind,
                   EncodedRows& rows,
                   std::vector<int>& places) const;
  /// Rows of places behind one, up to another.
  void read_tail(int behind, int last, EncodedRows& rows, std::vector<int>& places) const;
  void insert_place(int number, const Place& place);
  void insert_local(int number, const PackedLocalFeatures& local);
  void insert_rows(std::span<const int> numbers, const EncodedRows& rows);
  void wait_for_block(int number, const EncodedRows& rows, int i);
  void write_block(std::span<const int> places,
                   std::span<const float> scales,
                   const std::uint8_t* data);
  void write_tail(int place, float scale, const std::uint8_t* row);
  void drop_block(int first);
  std::uint32_t find_pages(const Block& block, std::span<const std::uint8_t> data) const;
  void bury(int place);
  void shrink(const Block& block);
  MapState state_or_none(std::vector<std::string>& problems) const;
  void check_rows(const std::vector<int>& places, std::vector<std::string>& problems) const;
  std::int64_t block_checksum(std::span<const std::int32_t> places,
                              std::span<const float> scales,
                              std::span<const std::uint8_t> data) const;

  Database database_;
  MapHeader header_;
  RowForm form_;
  int block_rows_ = 0;
  // Of a map that is built: what will be the next block.
  std::vector<int> waiting_places_;
  EncodedRows waiting_;
};

}  // namespace ria
