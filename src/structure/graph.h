// SPDX-License-Identifier: MIT
// A graph in which every place has links to places near it, on several levels (Malkov and Yashunin:
// Efficient and robust approximate nearest neighbor search using hierarchical navigable small world
// graphs, 2018). Nodes stand in the order in which they were added: the first ones are on the upper
// levels, so that levels follow from numbers alone.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel/scan_kernels.h"
#include "util/aligned.h"

namespace ria {

struct GraphShape {
  int nodes = 0;
  int values = 0;  ///< of a code
  int degree = 0;  ///< links of a node on upper levels; on level 0 twice as many

  /// Of a code, whole lines.
  int code_bytes() const { return (values + 63) / 64 * 64; }
  int links(int level) const { return level == 0 ? 2 * degree : degree; }
  /// On a level are the first so many nodes, each degree-th of the level below; on the last more
  /// than one.
  int nodes_on(int level) const;
  int levels() const;
  /// The last that a node is on.
  int level_of(int node) const;
  std::size_t bytes() const;
};

/// A code's values are `scale` times its bytes.
struct NodeSize {
  float scale = 0;
  float half_square = 0;  ///< of its length
};

/// The arrays of a graph, wherever they lie.
class Graph {
 public:
  Graph() = default;
  /// shape.bytes() of them, aligned to lines.
  Graph(const GraphShape& shape, const std::uint8_t* arrays);

  const GraphShape& shape() const { return shape_; }
  const std::int8_t* code(int node) const {
    return codes_ + static_cast<std::ptrdiff_t>(node) * shape_.code_bytes();
  }
  /// Up to the first -1.
  std::span<const std::int32_t> links(int level, int node) const {
    const int count = shape_.links(level);
    return {links_[static_cast<std::size_t>(level)] + static_cast<std::ptrdiff_t>(node) * count,
            static_cast<std::size_t>(count)};
  }
  std::span<const NodeSize> sizes() const { return sizes_; }
  std::span<const std::int32_t> places() const { return places_; }
  std::span<const float> scales() const { return scales_; }  ///< of the places' rows

  /// Links lead to nodes of their level, places lie below `end`, values are at most `most`.
  bool sound(int end, float most) const;

 private:
  GraphShape shape_;
  const std::int8_t* codes_ = nullptr;
  std::vector<const std::int32_t*> links_;  // of each level
  std::span<const NodeSize> sizes_;
  std::span<const std::int32_t> places_;
  std::span<const float> scales_;
};

struct Near {
  float distance = 0;  ///< half its square, less half the query's square
  std::int32_t node = -1;

  auto operator<=>(const Near&) const = default;
};

/// What nodes are compared with.
class GraphQuery {
 public:
  explicit GraphQuery(const Graph& graph);
  void set(std::span<const float> values);
  void set(const Graph& graph, int node);

  Near compare(const Graph& graph, int node);
  /// From one node on, some that follow each other.
  void compare(const Graph& graph, int first, int count, std::vector<Near>& to);

 private:
  AlignedBuffer<std::int16_t> values_;
  float scale_ = 0;
  void (*scan_)(const ScanTask&);
  std::vector<float> sums_;
};

/// Numbers that were seen.
class SeenNodes {
 public:
  SeenNodes() { clear(); }
  void clear();
  /// False: it was here.
  bool insert(std::int32_t node);

 private:
  void grow();
  std::size_t slot(std::int32_t node) const;

  std::vector<std::int32_t> slots_;  // a power of two of them, at most half full; -1: free
  std::size_t used_ = 0;
};

/// Walks a graph towards a query, from the best place seen so far to those it is linked with, until
/// none of the best is left whose links were not followed. Its memory is used again.
class Beam {
 public:
  explicit Beam(const Graph& graph) : query(graph), graph_(&graph) {}

  GraphQuery query;

  /// From level `from` down to the one above `to`, always to the nearest.
  int descend(int from, int to);
  /// The `wide` nearest of a level, in no order.
  std::vector<Near>& search(int level, int entry, int wide);

 private:
  void show(const Near& near, std::size_t wide);

  const Graph* graph_;
  SeenNodes seen_;
  std::vector<Near> open_, best_;  // heaps: the nearest, the farthest on top
  std::vector<std::int32_t> fresh_;
};

}  // namespace ria
