// SPDX-License-Identifier: MIT
// The search structure beside a map, MAP.search: which places may be near a query, without reading
// their descriptors. Either places lie in lists around centres, each as a code of some 96 bytes, or
// they are the nodes of a graph, each as 256 bytes and its links to places near it.
//
//   body    SearchShape, SearchBlock[blocks], the groups' number behind each list, the arrays of
//           SearchModel; of lists the groups: places, scales, errors, codes; of a graph, from the
//           next whole line of 64 bytes on: codes, links of each level, sizes, places, scales
//   footer  SearchMeasure
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "archive/bytes.h"
#include "kernel/scan_kernels.h"
#include "structure/graph.h"
#include "util/aligned.h"

namespace ria {

inline constexpr int kTableEntries = 16;  ///< codes have four bits
inline constexpr int kMostPairs = 96;     ///< of tables

enum class SearchKind : std::int32_t { kLists = 0, kGraph = 1 };

/// How many of everything. Descriptors are reduced to `reduced` values; for lists these are cut
/// into 2 * pairs parts, each with a table of its own.
struct SearchShape {
  char magic[8] = {'r', 'i', 'a', 's', 'e', 'a', 'r', '2'};
  std::int32_t dim = 0;
  std::int32_t reduced = 0;
  std::int32_t lists = 0;  ///< of a graph 0, as pairs and groups are
  std::int32_t pairs = 0;
  std::int32_t blocks = 0;
  std::int32_t places = 0;   ///< that have a code
  std::int32_t removed = 0;  ///< of the map when this was made
  std::int32_t groups = 0;   ///< of kCodeGroup places
  SearchKind kind = SearchKind::kLists;
  std::int32_t degree = 0;  ///< of a graph, see GraphShape
  std::int32_t unused[2] = {};

  int part() const { return pairs > 0 ? reduced / (2 * pairs) : 1; }
  /// Of a row of the projection, a whole line.
  int values() const { return (dim + 15) / 16 * 16; }
  std::size_t group_bytes() const {
    return static_cast<std::size_t>(kCodeGroup) * (10 + static_cast<std::size_t>(pairs));
  }
  GraphShape graph() const { return {places, reduced, degree}; }
};
static_assert(sizeof(SearchShape) == 56);

/// What was found out about the body, behind it.
struct SearchMeasure {
  /// Lists a query looks into; of a graph, places it keeps in sight.
  std::int32_t probes = 1;
  std::int32_t refined = 1;   ///< candidates whose descriptors are read
  std::int32_t held_out = 0;  ///< places the recall was measured with
  float recall = 0;           ///< share of them whose nearest other place was found
  std::int64_t checksum = 0;  ///< of the body and of the fields above
};
static_assert(sizeof(SearchMeasure) == 24);

/// A block of the map as it was, and where its bytes lie in the map's file.
struct SearchBlock {
  std::int32_t first = 0, last = 0;
  std::int64_t checksum = 0;
  std::int32_t rows = 0;   ///< 0: places are missing between the first and the last
  std::uint32_t page = 0;  ///< first of the pages that follow each other; 0: they do not
};
static_assert(sizeof(SearchBlock) == 24);

/// What places are coded by. Plain arrays, so that they can be read from a mapped file.
struct SearchModel {
  std::span<const float> mean;        ///< [values()]
  std::span<const float> projection;  ///< [reduced][values()]
  std::span<const float> variances;   ///< [reduced + 1] of the projected; of one direction beyond
  std::span<const float> centres;     ///< [lists][reduced]
  std::span<const float> tables;      ///< [2 * pairs][kTableEntries][part()]
};
/// Values of the arrays above, one behind the other.
std::size_t model_values(const SearchShape& shape);
SearchModel model_of(const SearchShape& shape, std::span<const float> values);
/// Bytes of the body before a graph's arrays.
std::size_t graph_offset(const SearchShape& shape);

/// Some places with their codes.
struct CodeGroup {
  std::span<const std::int32_t> places;  ///< -1: none
  std::span<const float> scales;
  std::span<const std::uint16_t> errors;  ///< rounded_error() of each
  const std::uint8_t* codes;
};

class SearchFile {
 public:
  /// Throws std::runtime_error naming the file if it is none, cut short or damaged.
  static SearchFile open(const std::filesystem::path& file);
  /// A body whose footer is still to be written.
  static SearchFile open_body(const std::filesystem::path& file, const SearchMeasure& measure);

  const SearchShape& shape() const { return shape_; }
  const SearchMeasure& measure() const { return measure_; }
  void set_measure(const SearchMeasure& measure) { measure_ = measure; }
  const SearchModel& model() const { return model_; }
  std::span<const SearchBlock> blocks() const { return blocks_; }
  /// Places from this one on have no code.
  int end() const { return blocks_.empty() ? 0 : blocks_.back().last + 1; }
  /// Number of the group behind the last of each list.
  std::span<const std::int32_t> list_ends() const { return list_ends_; }
  CodeGroup group(int i) const;
  const Graph& graph() const { return graph_; }
  std::size_t bytes() const { return mapped_->bytes().size(); }

 private:
  SearchFile(const std::filesystem::path& file, bool has_footer);
  void require_order(const std::filesystem::path& file) const;

  std::shared_ptr<const MappedFile> mapped_;
  SearchShape shape_;
  SearchMeasure measure_;
  SearchModel model_;
  std::span<const SearchBlock> blocks_;
  std::span<const std::int32_t> list_ends_;
  const std::uint8_t* groups_ = nullptr;
  Graph graph_;
};

/// Of a body that comes piece by piece, and its footer's fields.
std::int64_t footer_checksum(std::int64_t body, const SearchMeasure& measure);

/// m.ria -> m.ria.search
std::filesystem::path search_file_of(const std::filesystem::path& map);

}  // namespace ria
