// SPDX-License-Identifier: MIT
// The known places: a durable, growing map, and the exact search among them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ria/api.h"
#include "ria/features.h"

namespace ria {

struct PushOptions;

/// One answer: which place, how alike (cosine, -1..1; the score of a re-ranker where one ordered
/// the answers).
struct Match {
  int place = -1;
  float score = 0;
};

/// What a map was made with; a query must be made with the same.
struct MapHeader {
  std::string method;          ///< e.g. resnet50-ria
  std::string options;         ///< JSON of every option that shapes a descriptor
  std::string weights_sha256;  ///< empty: the backbone has no weights
  std::string ria_version;
  int dim = 0;
};

/// How the values of a descriptor are kept. Beside them a place has one scale, chosen so that its
/// cosine with itself is 1 whatever was rounded.
enum class Storage {
  kFloat,  ///< 4 bytes a value, nothing lost: what a map in memory has
  kHalf,   ///< 2 bytes: scores change in the fifth digit
  kInt8    ///< 1 byte: scores change in the third or fourth digit
};
/// "float", "half", "int8"
RIA_API std::string to_string(Storage storage);
/// The inverse; throws std::invalid_argument naming what is known.
RIA_API Storage parse_storage(const std::string& name);

/// What is known of a place beside its descriptor. NaN: not known.
struct Place {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  std::string name;           ///< as a rule the picture's; may be empty, need not be unique
  double stamp = kUnknown;    ///< seconds
  double x = kUnknown;        ///< metres to the east; UTM easting where utm_zone says so
  double y = kUnknown;        ///< metres to the north; UTM northing where utm_zone says so
  int utm_zone = 0;           ///< 1..60 north, -1..-60 south of the equator; 0: a frame of its own
  double heading = kUnknown;  ///< degrees clockwise from north
};

/// The place of this name, with what the name says where it is of the form
/// @east@north@zone@letter@latitude@longitude@...@...@heading@...: position, zone and heading.
RIA_API Place place_named(const std::string& name);

/// Which places may be answers.
struct SearchOptions {
  /// Only places below this one: a robot leaves out what it has added in the last seconds.
  int before = std::numeric_limits<int>::max();
  /// Asked of the places that are alike enough, from several threads at once; empty: all may be.
  std::function<bool(int place)> allowed;
};

/// How a map is searched.
struct SearchInfo {
  /// "exact"; "ivfpq", "hnsw": by the structure beside the map, see optimise_map(); "hnsw" of a map
  /// on a server: by its index.
  std::string kind = "exact";
  int places = 0;         ///< that are searched so; those that came later exactly
  int lists = 0;          ///< of the structure
  int probes = 0;         ///< lists a query looks into
  int ef = 0;             ///< places of the graph that a query keeps in sight
  int refined = 0;        ///< places a query, whose descriptors are compared
  double recall = 1;      ///< share of held-out pictures whose nearest place is found
  int held_out = 0;       ///< how many those were
  std::size_t bytes = 0;  ///< of the structure
  std::string note;       ///< of a server, or why a structure is not used; one line
};

/// What a map in a file is opened for.
enum class Access { kRead, kWrite };

/// Places with their descriptors, in a file or in memory. A place is known by a number: the first
/// has 0, each next one the next number, and the number of a place that was removed is not given
/// again; so as long as nothing is removed, numbers are positions.
///
/// A file is an SQLite database. What add() or remove() has done when it returns survives the end
/// of the process and of the power; what was interrupted has not happened. While one process
/// writes, others read; a second writer waits. A map that nobody has open is one file. Descriptors
/// are read into memory once, for the first search, unless a search structure made by
/// optimise_map() is beside the file: then they stay on the disk, and only those of the most
/// promising places are read. Everything else is read when it is asked for.
///
/// Where a name is postgresql://user@host/database, the map is in a PostgreSQL database with
/// pgvector: in the schema that ?schema= names, `ria` if none. It is searched there, by its HNSW
/// index where it has one and ?search=exact does not say otherwise (?ef_search= 1 to 1000: places
/// the index keeps in sight, 100), and only answers, and local features that are asked for, come
/// over. Such a map shows what is there now, size() and end() what was there at the last refresh().
/// A server that is lost is waited for, ?retry_seconds= 60, and nothing is done twice. Descriptors
/// have at most 16,000 dims.
///
/// Every function may be called from several threads at once. Functions on a file throw
/// std::runtime_error naming it: missing, no map, damaged, full disk, another format.
class RIA_API Map {
 public:
  /// An empty map in memory. Throws std::invalid_argument unless header.dim is positive.
  explicit Map(MapHeader header, Storage storage = Storage::kFloat);
  /// An empty map in a new file, open for writing. Throws std::runtime_error if there is one.
  static Map create(const std::filesystem::path& file,
                    const MapHeader& header,
                    Storage storage = Storage::kHalf);
  /// A map in a file of its own, which replaces what was there: `fill` adds the places, and what it
  /// has added is there when it has returned, or not at all. Until then nothing can be searched.
  /// The same places give the same bytes, however many were added at a time.
  static void build(const std::filesystem::path& file,
                    const MapHeader& header,
                    Storage storage,
                    const std::function<void(Map& map)>& fill);
  static Map open(const std::filesystem::path& file, Access access = Access::kRead);
  /// Whether there is a file, or a map on a server, of this name.
  static bool exists(const std::filesystem::path& file);
  ~Map();
  Map(Map&&) noexcept;
  Map& operator=(Map&&) noexcept;

  /// What it was made with.
  const MapHeader& header() const;
  Storage storage() const;
  /// Empty: in memory. On a server: its name without the password.
  const std::filesystem::path& file() const;
  /// What it takes on the disk; 0: it is in memory.
  std::uint64_t bytes() const;
  /// Number of places.
  int size() const;
  /// One more than the largest number given to a place so far: that of the next.
  int end() const;
  /// What was fitted and queries need (projection, vocabulary, mean, ...), by name.
  const std::map<std::string, Matrix>& fitted() const;
  void set_fitted(std::map<std::string, Matrix> fitted);

  /// Throws std::invalid_argument for a number that no place has.
  Place place(int place) const;
  /// Shows the places in the order of their numbers.
  void each_place(const std::function<void(int number, const Place& place)>& visit) const;
  /// The places of this name.
  std::vector<int> find(const std::string& name) const;
  /// Their descriptors as they are kept, one a row.
  Matrix descriptors(const std::vector<int>& places) const;
  /// Whether local features are kept, which is for all places or for none.
  bool has_locals() const;
  /// What a re-ranker needs of a place, read now. Throws std::invalid_argument where there is none.
  PackedLocalFeatures local(int place) const;

  /// Adds unit vectors, one a row, with what a re-ranker needs of each, and returns the number of
  /// the first; all of them are durable then, or none. Throws std::invalid_argument on another
  /// width, NaN, or a number of places or local features that differs from the row count.
  int add(const Matrix& descriptors,
          const std::vector<Place>& places,
          const std::vector<PackedLocalFeatures>& locals = {});
  /// All or none; a number that no place has is no error.
  void remove(const std::vector<int>& places);
  /// Adds the places of a map of the same method, options and weights, but those whose name is here
  /// already; returns how many were added. Throws std::invalid_argument naming what differs.
  int merge(const Map& other);

  /// The k most alike places for each row, best first, of equals the lower number; fewer if there
  /// are fewer. The same for any number of threads. With a search structure a place may be missed,
  /// see search_info(); scores are exact.
  std::vector<std::vector<Match>> search(const Matrix& queries,
                                         int k,
                                         const SearchOptions& options = {}) const;
  std::vector<Match> search(const Descriptor& query,
                            int k,
                            const SearchOptions& options = {}) const;
  /// How alike every place is, in the order of their numbers; all descriptors are read for it.
  std::vector<Match> scores(const Descriptor& query) const;
  /// How alike these places are, as far as they are there, in the order of their numbers.
  std::vector<Match> scores(const Descriptor& query, const std::vector<int>& places) const;
  /// Mean and standard deviation of scores(query); of what is known of a sample of the places where
  /// there is a search structure.
  std::pair<double, double> score_spread(const Descriptor& query) const;
  SearchInfo search_info() const;

  /// Sees what other processes have done since; true if there was something. A map shows one state
  /// until then, but for its own changes.
  bool refresh();

  /// A copy with the same numbers, see build().
  void save(const std::filesystem::path& file, Storage storage = Storage::kHalf) const;

  /// What is wrong with the file, one line each: pages, checksums, places without a descriptor, ...
  /// Empty: nothing.
  std::vector<std::string> check() const;

 private:
  friend RIA_API int push_map(const Map& map, const std::string& server, const PushOptions&);
  friend struct LocalMap;
  friend class ServerMap;
  struct Impl;
  explicit Map(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// All places of some maps of the same method, options and weights in a new one, see Map::build(),
/// in this order and without those whose name came before. Returns how many there are.
RIA_API int merge_maps(const std::vector<std::filesystem::path>& files,
                       const std::filesystem::path& out);

}  // namespace ria
