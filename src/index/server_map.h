// SPDX-License-Identifier: MIT
// A map in a PostgreSQL database with pgvector: a schema of its own with the tables
//   map     one row: format, header, how many places, how they are searched
//   fitted  what was fitted
//   place   number, name, ..., descriptor as halfvec; in partitions by shard = number % shards
//   local   what a re-ranker needs of each place; in partitions too
//   writer  the last batch of each writer: whether a commit whose answer was lost has happened
// Writers of one map wait for each other, so that numbers rise and no name comes twice.
#pragma once

#include <mutex>
#include <stop_token>

#include "index/map_impl.h"
#include "index/server_link.h"
#include "ria/push.h"

namespace ria {

/// How a server's map is searched.
struct ServerSearch {
  bool indexed = false;  ///< by HNSW
  int m = 0;
  int ef_construction = 0;
  double recall = Place::kUnknown;  ///< share of the ten most alike that were found, of some places
};

/// How a new one is laid out.
struct ServerLayout {
  int shards = 1;  ///< partitions
  bool may_be_there = false;
};

class [[gnu::visibility("hidden")]] ServerMap final : public Map::Impl {
 public:
  static bool exists(const std::filesystem::path& name, std::stop_token stop = {});
  static std::unique_ptr<ServerMap> open(
      const std::filesystem::path& name, Access access, std::stop_token stop = {});
  /// Throws std::runtime_error if there is one and it may not be there.
  static std::unique_ptr<ServerMap> create(const std::filesystem::path& name,
                                           const MapHeader& header,
                                           const std::map<std::string, Matrix>& fitted,
                                           const ServerLayout& layout = {},
                                           std::stop_token stop = {});
  ~ServerMap() override;

  const MapHeader& header() const override { return header_; }
  const RowForm& form() const override { return form_; }
  MapState state() const override;
  void set_fitted(std::map<std::string, Matrix> changed) override;
  Place place(int place) const override;
  std::vector<int> places_from(int first, int count, std::vector<Place>& places) const override;
  std::vector<int> find(const std::string& name) const override;
  EncodedRows get_rows(const std::vector<int>& places) const override;
  PackedLocalFeatures local(int place) const override;
  PlaceBatch next(int first, int count) const override;
  int together() const override { return 256; }
  int add(PlaceBatch batch) override;
  int add_new(const PlaceBatch& batch) override;
  void remove(const std::vector<int>& places) override;
  std::vector<std::vector<Match>> search(const Matrix& queries, int k, const SearchOptions& options)
      const override;
  std::vector<Match> scores(const Matrix& query) const override;
  Rows rows_of(const std::vector<int>& places) const override;
  bool refresh() override;
  std::vector<std::string> check() const override;
  std::uint64_t bytes() const override;
  SearchInfo search_info() const override;

  /// Throws std::runtime_error where descriptors are too long for an index.
  void require_indexable() const;
  /// Builds the index, unless it is there and the same.
  void make_index(int m, int ef_construction);
  void drop_index();
  /// As PushOptions say.
  void choose_search(const PushOptions& options);
  /// The share of the `k` places most alike to one that the index finds, of so many ones; kept.
  double measure_recall(int places, int k);

  static constexpr int kMostDims = 16000;        ///< of a halfvec
  static constexpr int kMostIndexedDims = 4000;  ///< of one in an index

 private:
  ServerMap(const ServerName& name, Access access, std::stop_token stop);

  /// Some places, in rising order of their numbers, as a search finds them.
  struct Found {
    Rows rows;
    int count = 0;
    float last = 0;  ///< the server's score of the last
  };

  void greet();
  bool read_header();
  void make_tables(const MapHeader& header, int shards);
  void write_fitted(const std::map<std::string, Matrix>& fitted);
  void require_writable() const;
  void read_state() const;
  void read_fitted();

  /// Calls body on the server with the link to itself.
  void talk(const std::function<void()>& body) const;
  struct Written {
    int first = 0, count = 0;
  };
  Written write(const PlaceBatch& batch, bool only_new);
  bool was_written(Written & written) const;
  std::vector<std::size_t> choose(const PlaceBatch& batch, bool only_new) const;
  void copy_places(const PlaceBatch& batch, const std::vector<std::size_t>& chosen, int first);
  Found candidates(std::span<const float> query, int count, int before, bool exact) const;
  std::vector<Match> search_one(
      std::span<const float> query, int k, const SearchOptions& options, bool exact) const;
  SqlValue halfvec(const std::uint8_t* halves) const;
  /// Values of a descriptor as the server sends them, behind a row.
  void append_row(std::string_view sent, double scale, EncodedRows& rows) const;
  PackedLocalFeatures local_of(const ServerRows& rows, int row, int column) const;
  Place place_of(const ServerRows& rows, int row) const;
  /// {S}: the schema, {V}: that of pgvector.
  std::string sql(const char* text) const;
  [[noreturn]] void damaged(const std::string& what) const;

  mutable std::mutex mutex_;  ///< of everything below
  mutable ServerLink link_;
  Access access_;
  std::string vector_schema_;
  std::string server_text_;
  std::uint32_t halfvec_type_ = 0;
  MapHeader header_;
  RowForm form_;
  int shards_ = 1;
  std::string writer_;
  std::int64_t batch_ = 0;
  mutable MapState known_;
  mutable ServerSearch search_;
  mutable int ef_search_ = 0;  ///< of this connection; 0: not set yet
};

}  // namespace ria
