// SPDX-License-Identifier: MIT
// Coded places -> a graph (structure/graph.h), the same whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "optimise/assemble.h"
#include "optimise/work_log.h"
#include "structure/graph.h"
#include "util/aligned.h"

namespace ria {

/// Places are added in an order drawn from the seed, some at a time: all of these look for their
/// neighbours in the graph as it was before them, each by itself, and are linked together then. So
/// neither the threads nor a stop in between change anything.
class GraphBuilder {
 public:
  GraphBuilder(const GraphShape& shape, std::uint64_t seed);

  /// All places, in the order of their blocks, before anything is linked.
  void add(const CodedBlock& block);
  /// Goes on with what is in the log behind its position, and writes there what it finds;
  /// `step(linked)` is called before each batch and after the last.
  void link(WorkLog& log, const std::function<void(int linked)>& step);
  /// The arrays of the graph.
  std::span<const std::uint8_t> bytes() const { return {arrays_.data(), arrays_.size()}; }

  /// Of a builder and what it makes.
  static std::int64_t memory(const GraphShape& shape);

 private:
  /// A link to a node, which is to be linked back.
  struct Back {
    std::int32_t level, node, from;
    auto operator<=>(const Back&) const = default;
  };
  using Links = std::vector<std::int32_t>;
  class Worker;

  std::size_t links_of(int first, int end) const;
  Links find_links(int first, int end) const;
  void take_links(int first, int end, const Links& found);
  void link_back(std::vector<Back>& backs);
  std::span<std::int32_t> links(int level, int node);

  GraphShape shape_;
  AlignedBuffer<std::uint8_t> arrays_;
  Graph graph_;                      // of the arrays
  std::vector<std::int32_t> nodes_;  // of each place, as they come
  std::size_t added_ = 0;
};

}  // namespace ria
