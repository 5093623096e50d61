// SPDX-License-Identifier: MIT
#include <algorithm>

#include "structure/candidates.h"

namespace ria {

namespace {

/// A walk compares some ten to twenty times as many places as it keeps in sight.
constexpr int kComparedOfOne = 16;
constexpr int kTogether = 1024;

/// Finds places by walking over the graph.
class GraphCandidates final : public Candidates {
 public:
  explicit GraphCandidates(SearchFile opened) : Candidates(std::move(opened)) {}

  std::vector<CodedPlace> find(std::span<const float> query,
                               int wanted,
                               const Allowed& allowed) const override;

 private:
  /// All nodes, without their links.
  std::vector<Near> scan(GraphQuery& query, const Allowed& allowed) const;
  void keep_allowed(std::vector<Near>& nodes, const Allowed& allowed) const;
};

void GraphCandidates::keep_allowed(std::vector<Near>& nodes, const Allowed& allowed) const {
  const auto places = file.graph().places();
  std::erase_if(nodes, [&](const Near& near) {
    return !allowed(places[static_cast<std::size_t>(near.node)]);
  });
}

std::vector<Near> GraphCandidates::scan(GraphQuery& query, const Allowed& allowed) const {
  std::vector<Near> found, some;
  const int nodes = file.graph().shape().nodes;
  for (int first = 0; first < nodes; first += kTogether) {
    some.clear();
    query.compare(file.graph(), first, std::min(kTogether, nodes - first), some);
    keep_allowed(some, allowed);
    found.insert(found.end(), some.begin(), some.end());
  }
  return found;
}

std::vector<CodedPlace> GraphCandidates::find(std::span<const float> query,
                                              int wanted,
                                              const Allowed& allowed) const {
  const Graph& graph = file.graph();
  Beam beam(graph);
  beam.query.set(from_mean(project(query)));
  // Where many places are not allowed, those that are shall be as good.
  const auto enough = static_cast<std::size_t>(std::max(wanted, file.measure().refined));
  std::vector<Near> found;
  for (auto wide = std::max<std::int64_t>(file.measure().probes, static_cast<std::int64_t>(enough));
       ;
       wide *= 2) {
    const bool all = wide * kComparedOfOne >= graph.shape().nodes;
    if (all) {
      found = scan(beam.query, allowed);
    } else {
      const int entry = beam.descend(graph.shape().levels() - 1, 0);
      found = beam.search(0, entry, static_cast<int>(wide));
      keep_allowed(found, allowed);
    }
    if (all || found.size() >= enough) break;
  }
  if (found.size() > enough) {
    std::ranges::nth_element(found, found.begin() + static_cast<std::ptrdiff_t>(enough) - 1);
    found.resize(enough);
  }
  std::vector<CodedPlace> places;
  for (const Near& near : found) {
    const auto node = static_cast<std::size_t>(near.node);
    places.push_back({-near.distance, graph.places()[node], graph.scales()[node]});
  }
  std::ranges::sort(places, {}, &CodedPlace::place);
  return places;
}

}  // namespace

std::unique_ptr<Candidates> graph_candidates(SearchFile file) {
  return std::make_unique<GraphCandidates>(std::move(file));
}

}  // namespace ria
