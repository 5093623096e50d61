// SPDX-License-Identifier: MIT
// Coded blocks in the order they were read -> the body of a search file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ria/map.h"
#include "structure/search_file.h"
#include "util/files.h"

namespace ria {

/// A block of the map with the codes of its live places, and for each held-out place the nearest
/// other one in this block.
struct CodedBlock {
  SearchBlock block;
  std::vector<std::int32_t> places, lists;  ///< of a graph there are no lists
  std::vector<float> scales;
  std::vector<std::uint16_t> errors;  ///< of lists
  std::vector<std::uint8_t> codes;    ///< [place][pairs], or of a graph as its nodes have them
  std::vector<NodeSize> sizes;        ///< of a graph
  std::vector<Match> nearest;

  std::vector<std::uint8_t> bytes() const;
  /// What bytes() gave.
  static CodedBlock from(std::span<const std::uint8_t> bytes);
};

/// Shows all blocks, in the order of their places, and can do so again.
using EachBlock = std::function<void(const std::function<void(const CodedBlock&)>& visit)>;

/// Writes the body and returns its checksum; as many lists at a time as fit into so many bytes.
std::int64_t write_lists(SearchShape shape,
                         std::span<const float> model,
                         const EachBlock& each,
                         std::int64_t max_bytes,
                         AtomicFile& file);
/// The same of a graph, of the arrays that GraphBuilder made.
std::int64_t write_graph(SearchShape shape,
                         std::span<const float> model,
                         std::span<const SearchBlock> blocks,
                         std::span<const std::uint8_t> arrays,
                         AtomicFile& file);

}  // namespace ria
