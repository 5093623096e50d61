// SPDX-License-Identifier: MIT
#include "optimise/graph_builder.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <numeric>
#include <stdexcept>

#include "util/random.h"

namespace ria {

namespace {

constexpr int kWide = 128;           // places in sight while a node looks for its neighbours
constexpr int kBatchOf = 32;         // a batch is at most this part of what is there
constexpr int kWorthThreads = 32;    // nodes
constexpr int kLargestBatch = 4096;  // a stop is not waited for any longer

template <typename T>
T* writable(std::span<const T> values) {
  return const_cast<T*>(values.data());
}

/// Calls body(worker, i) for i in [0, count) on all cores, each with a worker of its own.
template <typename Make, typename Body>
void on_all_cores(int count, Make make, Body body) {
  std::exception_ptr error;  // no exception may leave a thread
  std::atomic<int> next = 0;
#pragma omp parallel if (count >= kWorthThreads)
  {
    try {
      auto worker = make();
      for (int i = next++; i < count; i = next++) body(worker, i);
    } catch (...) {
#pragma omp critical(ria_graph)
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

[[noreturn]] void cannot_go_on() {
  throw std::runtime_error("what an earlier run left cannot be read: start again");
}

}  // namespace

/// What a thread needs to find and choose links.
class GraphBuilder::Worker {
 public:
  explicit Worker(const GraphBuilder& builder)
      : graph_(builder.graph_), beam_(graph_), query_(graph_) {}

  /// The links of a new node, level by level, each level's filled up with -1.
  void find(int node, std::int32_t* to) {
    const GraphShape& shape = graph_.shape();
    const int own = shape.level_of(node);
    std::fill_n(to, (own + 1) * shape.degree, -1);
    if (node == 0) return;
    beam_.query.set(graph_, node);
    int entry = beam_.descend(shape.levels() - 1, own);
    for (int level = own; level >= 0; --level) {
      std::vector<Near>& found = beam_.search(level, entry, kWide);
      std::ranges::sort(found);
      entry = found.front().node;
      choose(node, found, {to + level * shape.degree, static_cast<std::size_t>(shape.degree)});
    }
  }

  /// Of what a node has and what is new for it, those it keeps.
  void merge(int node, std::span<const Back> fresh, std::span<std::int32_t> links) {
    const auto free = std::ranges::find(links, -1);
    if (links.end() - free >= std::ssize(fresh)) {
      std::ranges::transform(fresh, free, &Back::from);
      return;
    }
    std::vector<Near> all;
    query_.set(graph_, node);
    for (auto at = links.begin(); at != free; ++at) all.push_back(query_.compare(graph_, *at));
    for (const Back& back : fresh) all.push_back(query_.compare(graph_, back.from));
    std::ranges::sort(all);
    std::ranges::fill(links, -1);
    choose(node, all, links);
  }

 private:
  /// The nearest first; a node that is nearer to one that was chosen, or the same as that, is
  /// reached by it.
  void choose(int node, std::span<const Near> sorted, std::span<std::int32_t> to) {
    const auto half_square = [&](int of) {
      return graph_.sizes()[static_cast<std::size_t>(of)].half_square;
    };
    std::size_t chosen = 0;
    for (const Near& near : sorted) {
      if (chosen == to.size()) return;
      const float limit = near.distance + half_square(node);
      query_.set(graph_, near.node);
      const bool reached = std::ranges::any_of(to.first(chosen), [&](std::int32_t other) {
        return query_.compare(graph_, other).distance + half_square(near.node) <= limit;
      });
      if (!reached) to[chosen++] = near.node;
    }
  }

  const Graph& graph_;
  Beam beam_;
  GraphQuery query_;
};

GraphBuilder::GraphBuilder(const GraphShape& shape, std::uint64_t seed)
    : shape_(shape),
      arrays_(shape.bytes()),
      graph_(shape, arrays_.data()),
      nodes_(static_cast<std::size_t>(shape.nodes)) {
  std::iota(nodes_.begin(), nodes_.end(), 0);
  SplitMix64 random(seed);
  shuffle(nodes_, random);
  for (int level = 0; level < shape.levels(); ++level) {
    std::fill_n(links(level, 0).data(),
                static_cast<std::size_t>(shape.nodes_on(level)) *
                    static_cast<std::size_t>(shape.links(level)),
                -1);
  }
}

std::int64_t GraphBuilder::memory(const GraphShape& shape) {
  return static_cast<std::int64_t>(shape.bytes() +
                                   static_cast<std::size_t>(shape.nodes) * sizeof(std::int32_t));
}

std::span<std::int32_t> GraphBuilder::links(int level, int node) {
  const std::span<const std::int32_t> all = graph_.links(level, node);
  return {writable(all), all.size()};
}

void GraphBuilder::add(const CodedBlock& block) {
  if (block.places.size() > nodes_.size() - added_ || block.sizes.size() != block.places.size()) {
    cannot_go_on();
  }
  const auto bytes = static_cast<std::size_t>(shape_.code_bytes());
  for (std::size_t i = 0; i < block.places.size(); ++i) {
    const int node = nodes_[added_++];
    const auto at = static_cast<std::size_t>(node);
    std::memcpy(const_cast<std::int8_t*>(graph_.code(node)), block.codes.data() + i * bytes, bytes);
    writable(graph_.sizes())[at] = block.sizes[i];
    writable(graph_.places())[at] = block.places[i];
    writable(graph_.scales())[at] = block.scales[i];
  }
}

/// Of some nodes, on all their levels.
std::size_t GraphBuilder::links_of(int first, int end) const {
  std::size_t count = 0;
  for (int level = 0; level < shape_.levels(); ++level) {
    const int last = std::min(end, shape_.nodes_on(level));
    count += static_cast<std::size_t>(std::max(0, last - first) * shape_.degree);
  }
  return count;
}

GraphBuilder::Links GraphBuilder::find_links(int first, int end) const {
  Links found(links_of(first, end));
  on_all_cores(
      end - first,
      [&] { return Worker(*this); },
      [&](Worker& worker, int i) {
        worker.find(first + i, found.data() + links_of(first, first + i));
      });
  return found;
}

void GraphBuilder::take_links(int first, int end, const Links& found) {
  const auto degree = static_cast<std::size_t>(shape_.degree);
  std::vector<Back> backs;
  const std::int32_t* from = found.data();
  for (int node = first; node < end; ++node) {
    for (int level = 0; level <= shape_.level_of(node); ++level, from += degree) {
      std::copy_n(from, degree, links(level, node).begin());
      for (std::size_t i = 0; i < degree && from[i] >= 0; ++i) {
        backs.push_back({level, from[i], node});
      }
    }
  }
  link_back(backs);
}

void GraphBuilder::link_back(std::vector<Back>& backs) {
  std::ranges::sort(backs);
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < backs.size(); ++i) {
    if (i == 0 || backs[i].node != backs[i - 1].node || backs[i].level != backs[i - 1].level) {
      starts.push_back(i);
    }
  }
  on_all_cores(
      static_cast<int>(starts.size()),
      [&] { return Worker(*this); },
      [&](Worker& worker, int i) {
        const std::size_t at = static_cast<std::size_t>(i), start = starts[at];
        const std::size_t end = at + 1 < starts.size() ? starts[at + 1] : backs.size();
        const auto [level, node, from] = backs[start];
        worker.merge(node, std::span(backs).subspan(start, end - start), links(level, node));
      });
}

void GraphBuilder::link(WorkLog& log, const std::function<void(int linked)>& step) {
  std::vector<std::uint8_t> record;
  for (int first = 0, end = 0; first < shape_.nodes; first = end) {
    step(first);
    end = std::min(shape_.nodes, first + std::clamp(first / kBatchOf, 1, kLargestBatch));
    Links found(links_of(first, end));
    const std::size_t bytes = found.size() * sizeof(std::int32_t);
    if (log.next(record)) {
      if (record.size() != bytes) cannot_go_on();
      std::memcpy(found.data(), record.data(), bytes);
    } else {
      found = find_links(first, end);
      log.append({reinterpret_cast<const std::uint8_t*>(found.data()), bytes});
    }
    take_links(first, end, found);
  }
  step(shape_.nodes);
}

}  // namespace ria
