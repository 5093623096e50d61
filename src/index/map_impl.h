// SPDX-License-Identifier: MIT
// What is behind a map: a file or memory (LocalMap), or a database on a server (ServerMap).
#pragma once

#include <mutex>
#include <shared_mutex>

#include "index/approximate.h"
#include "index/rows.h"
#include "index/store.h"
#include "ria/map.h"

namespace ria {

/// Some places with everything that is kept of them; no or all local features.
struct PlaceBatch {
  std::vector<int> numbers;
  std::vector<Place> places;
  EncodedRows rows;
  std::vector<PackedLocalFeatures> locals;
};

/// Map's functions say what these do; arguments have been checked.
struct [[gnu::visibility("hidden")]] Map::Impl {
  explicit Impl(std::filesystem::path name) : file(std::move(name)) {}
  virtual ~Impl() = default;

  virtual const MapHeader& header() const = 0;
  virtual const RowForm& form() const = 0;
  virtual MapState state() const = 0;
  virtual void set_fitted(std::map<std::string, Matrix> changed) = 0;

  virtual Place place(int place) const = 0;
  /// The next places from one on, at most so many; their numbers.
  virtual std::vector<int> places_from(int first, int count, std::vector<Place>& places) const = 0;
  virtual std::vector<int> find(const std::string& name) const = 0;
  virtual EncodedRows get_rows(const std::vector<int>& places) const = 0;
  virtual PackedLocalFeatures local(int place) const = 0;
  /// The next places from one on, at most so many, whole.
  virtual PlaceBatch next(int first, int count) const = 0;
  /// Places that are worth reading at a time, if their local features are not too many.
  virtual int together() const = 0;

  /// Without numbers they get the next ones. Returns the first.
  virtual int add(PlaceBatch batch) = 0;
  /// Those whose name is not here yet, with the next numbers; returns how many.
  virtual int add_new(const PlaceBatch& batch) = 0;
  /// In rising order, none twice.
  virtual void remove(const std::vector<int>& places) = 0;

  virtual std::vector<std::vector<Match>> search(
      const Matrix& queries, int k, const SearchOptions& options) const = 0;
  virtual std::vector<Match> scores(const Matrix& query) const = 0;
  virtual std::pair<double, double> score_spread(const Matrix& query) const;
  /// Of those places that are there; in rising order, none twice.
  virtual Rows rows_of(const std::vector<int>& places) const = 0;
  virtual bool refresh() = 0;
  virtual std::vector<std::string> check() const = 0;

  /// What it takes on the disk; 0: it is in memory.
  virtual std::uint64_t bytes() const = 0;
  virtual SearchInfo search_info() const = 0;

  /// As messages name it.
  std::string name() const { return file.empty() ? "a map in memory" : file.string(); }
  /// Throws std::invalid_argument naming what differs.
  void require_same(const Impl& other) const;
  void require_fit(const Matrix& m) const;

  std::filesystem::path file;
  std::map<std::string, Matrix> fitted;
};

/// A map in memory or in a file.
struct [[gnu::visibility("hidden")]] LocalMap final : Map::Impl {
  LocalMap(const std::filesystem::path& file,
           Database::Mode mode,
           const MapHeader& header,
           Storage storage,
           const std::filesystem::path& shown = {});
  LocalMap(const std::filesystem::path& file, Access access);

  const MapHeader& header() const override { return store.header(); }
  const RowForm& form() const override { return store.form(); }
  MapState state() const override;
  void set_fitted(std::map<std::string, Matrix> changed) override;
  Place place(int place) const override;
  std::vector<int> places_from(int first, int count, std::vector<Place>& places) const override;
  std::vector<int> find(const std::string& name) const override;
  EncodedRows get_rows(const std::vector<int>& places) const override;
  PackedLocalFeatures local(int place) const override;
  PlaceBatch next(int first, int count) const override;
  int together() const override;
  int add(PlaceBatch batch) override;
  int add_new(const PlaceBatch& batch) override;
  void remove(const std::vector<int>& places) override;
  std::vector<std::vector<Match>> search(const Matrix& queries, int k, const SearchOptions& options)
      const override;
  std::vector<Match> scores(const Matrix& query) const override;
  std::pair<double, double> score_spread(const Matrix& query) const override;
  Rows rows_of(const std::vector<int>& places) const override;
  bool refresh() override;
  std::vector<std::string> check() const override;
  std::uint64_t bytes() const override;
  SearchInfo search_info() const override;

  /// Calls body with the database to itself, on one state of the file.
  template <typename Body>
  void read(Body body) const {
    const std::lock_guard lock(database_mutex);
    store.database().reading([&] { body(store); });
  }
  /// The same for a change; what others have changed before is known then.
  template <typename Body>
  void write(Body body);

  /// Reads the descriptors if that is still to be done.
  void load() const;
  /// Within a transaction: takes over what is in the file.
  bool follow() const;
  void forget_removed(const MapState& now) const;

  Access access = Access::kWrite;
  MapStore store;

  // Always in this order.
  mutable std::mutex database_mutex;     ///< of the store
  mutable std::shared_mutex rows_mutex;  ///< of what follows
  mutable MapState known;
  mutable std::int64_t version = 0;  ///< of the data that is known
  mutable Rows rows;  ///< of all places, or of those that `approximate` does not have
  mutable std::unique_ptr<Approximate> approximate;
  mutable std::string not_approximate;  ///< why there is none although there is a file
  mutable bool loaded = false;
};

}  // namespace ria
