// SPDX-License-Identifier: MIT
#include "structure/graph.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "structure/rounding.h"

namespace ria {

namespace {

constexpr std::size_t kFewestSlots = 4096;
constexpr float kFarthest = std::numeric_limits<float>::max();

std::size_t items(int count) { return static_cast<std::size_t>(count); }

/// What a damaged query makes of a distance, which is no number, is far away.
Near near_of(float distance, std::int32_t node) {
  return {distance <= kFarthest ? distance : kFarthest, node};
}

/// Turns a heap's order around.
constexpr auto farther = [](const Near& a, const Near& b) { return b < a; };

void prefetch(const void* from, int bytes) {
  const auto* at = static_cast<const char*>(from);
  for (int i = 0; i < bytes; i += 64) __builtin_prefetch(at + i);
}

}  // namespace

int GraphShape::nodes_on(int level) const {
  std::int64_t step = 1;
  for (int i = 0; i < level && step < nodes; ++i) step *= degree;
  return static_cast<int>((nodes + step - 1) / step);
}

int GraphShape::levels() const {
  int count = 1;
  while (nodes_on(count) > 1) ++count;
  return count;
}

int GraphShape::level_of(int node) const {
  int level = levels() - 1;
  while (level > 0 && node >= nodes_on(level)) --level;
  return level;
}

std::size_t GraphShape::bytes() const {
  std::size_t all = items(nodes) *
                    (items(code_bytes()) + sizeof(NodeSize) + sizeof(std::int32_t) + sizeof(float));
  for (int level = 0; level < levels(); ++level) {
    all += items(nodes_on(level)) * items(links(level)) * sizeof(std::int32_t);
  }
  return all;
}

Graph::Graph(const GraphShape& shape, const std::uint8_t* arrays) : shape_(shape) {
  const auto take = [&]<typename T>(const T*& to, std::size_t count) {
    to = reinterpret_cast<const T*>(arrays);
    arrays += count * sizeof(T);
  };
  const std::size_t nodes = items(shape.nodes);
  take(codes_, nodes * items(shape.code_bytes()));
  for (int level = 0; level < shape.levels(); ++level) {
    take(links_.emplace_back(), items(shape.nodes_on(level)) * items(shape.links(level)));
  }
  const NodeSize* sizes = nullptr;
  const std::int32_t* places = nullptr;
  const float* scales = nullptr;
  take(sizes, nodes);
  take(places, nodes);
  take(scales, nodes);
  sizes_ = {sizes, nodes};
  places_ = {places, nodes};
  scales_ = {scales, nodes};
}

bool Graph::sound(int end, float most) const {
  for (int level = 0; level < shape_.levels(); ++level) {
    const int nodes = shape_.nodes_on(level);
    const std::span all(links(level, 0).data(), items(nodes) * items(shape_.links(level)));
    if (std::ranges::any_of(all, [&](std::int32_t to) { return to < -1 || to >= nodes; })) {
      return false;
    }
  }
  const auto within = [&](float value) { return std::abs(value) <= most; };
  return std::ranges::all_of(places_, [&](int place) { return place >= 0 && place < end; }) &&
         std::ranges::all_of(scales_, within) && std::ranges::all_of(sizes_, [&](NodeSize size) {
           return within(size.scale) && within(size.half_square);
         });
}

GraphQuery::GraphQuery(const Graph& graph)
    : values_(items(graph.shape().code_bytes())), scan_(scan_kernels().front()->bytes) {}

void GraphQuery::set(std::span<const float> values) {
  scale_ = round_to(values, query_levels(static_cast<int>(values_.size())), values_.data());
}

void GraphQuery::set(const Graph& graph, int node) {
  std::copy_n(graph.code(node), values_.size(), values_.data());
  scale_ = graph.sizes()[items(node)].scale;
}

Near GraphQuery::compare(const Graph& graph, int node) {
  float sum = 0;
  scan_({graph.code(node), 1, values_.data(), 1, static_cast<int>(values_.size()), &sum});
  const NodeSize size = graph.sizes()[items(node)];
  return near_of(size.half_square - size.scale * scale_ * sum, node);
}

void GraphQuery::compare(const Graph& graph, int first, int count, std::vector<Near>& to) {
  sums_.resize(items(count));
  scan_({graph.code(first),
         count,
         values_.data(),
         1,
         static_cast<int>(values_.size()),
         sums_.data()});
  for (int i = 0; i < count; ++i) {
    const NodeSize size = graph.sizes()[items(first + i)];
    to.push_back(near_of(size.half_square - size.scale * scale_ * sums_[items(i)], first + i));
  }
}

void SeenNodes::clear() {
  slots_.assign(std::max(slots_.size(), kFewestSlots), -1);
  used_ = 0;
}

std::size_t SeenNodes::slot(std::int32_t node) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::uint32_t>(node) * 0x9e3779b1u >> 7 & mask;
  while (slots_[at] >= 0 && slots_[at] != node) at = (at + 1) & mask;
  return at;
}

void SeenNodes::grow() {
  std::vector<std::int32_t> before(4 * slots_.size(), -1);
  before.swap(slots_);
  for (const std::int32_t node : before) {
    if (node >= 0) slots_[slot(node)] = node;
  }
}

bool SeenNodes::insert(std::int32_t node) {
  const std::size_t at = slot(node);
  if (slots_[at] == node) return false;
  slots_[at] = node;
  if (2 * ++used_ > slots_.size()) grow();
  return true;
}

void Beam::show(const Near& near, std::size_t wide) {
  if (best_.size() == wide) {
    if (!(near < best_.front())) return;
    std::ranges::pop_heap(best_);
    best_.pop_back();
  }
  best_.push_back(near);
  std::ranges::push_heap(best_);
  open_.push_back(near);
  std::ranges::push_heap(open_, farther);
}

std::vector<Near>& Beam::search(int level, int entry, int wide) {
  const auto most = static_cast<std::size_t>(wide);
  seen_.clear();
  open_.clear();
  best_.clear();
  seen_.insert(entry);
  show(query.compare(*graph_, entry), most);
  while (!open_.empty()) {
    std::ranges::pop_heap(open_, farther);
    const Near next = open_.back();
    open_.pop_back();
    if (best_.size() == most && best_.front() < next) break;
    fresh_.clear();
    for (const std::int32_t node : graph_->links(level, next.node)) {
      if (node < 0) break;
      if (!seen_.insert(node)) continue;
      fresh_.push_back(node);
      prefetch(graph_->code(node), graph_->shape().code_bytes());
      prefetch(&graph_->sizes()[items(node)], sizeof(NodeSize));
    }
    for (const std::int32_t node : fresh_) show(query.compare(*graph_, node), most);
  }
  return best_;
}

int Beam::descend(int from, int to) {
  int node = 0;
  for (int level = from; level > to; --level) node = search(level, node, 1)[0].node;
  return node;
}

}  // namespace ria
