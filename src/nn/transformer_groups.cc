// SPDX-License-Identifier: MIT
// How the tokens of a picture are split between the threads.
#include <algorithm>
#include <span>

#include "nn/transformer_impl.h"

namespace ria {

namespace {

/// Lanes of a panel, or of both panels of a pair, that stay together.
struct Unit {
  int panel, first, end;
  bool paired;

  int panels() const { return paired ? 2 : 1; }
};

/// Whole panels are paired with the next, by the number of tokens alone: who is
/// paired with whom decides the rounding. One that is left over lies in the
/// middle, and threads share it.
std::vector<Unit> make_units(int tokens, const PanelKernels& kernels, int together, bool pairs) {
  std::vector<Unit> units;
  const int lanes = kernels.lanes;
  const int whole = tokens / lanes, middle = whole % 2 == 1 ? whole / 4 * 2 : whole;
  for (int panel = 0; panel * lanes < tokens;) {
    const bool paired = pairs && panel < whole && panel != middle;
    const int used = std::min(lanes, tokens - panel * lanes);
    for (int lane = 0; lane < used; lane += together) {
      const int end = std::min(lane + together, used);
      units.push_back({panel, lane, end, paired});
    }
    panel += units.back().panels();
  }
  return units;
}

/// How long the products of units take.
class Costs {
 public:
  explicit Costs(const PanelKernels& kernels) : kernels_(&kernels) {}

  /// Of some lanes of a panel, or of both panels of a pair. Those of a pair
  /// take 7 products instead of 8 (14 for both). One or two vectors have to
  /// wait for the weights.
  std::int64_t tile(int lanes, bool paired) const {
    constexpr int kTenths[] = {0, 14, 22, 30}, kFew = 3;
    const int rest = lanes % kernels_->width, whole = lanes / kernels_->width;
    const int tenths = rest == 0                      ? kTenths[whole]
                       : rest <= kernels_->few_tokens ? kTenths[whole] + kFew
                                                      : kTenths[whole + 1];
    return tenths * (paired ? 14 : 8);
  }
  std::int64_t operator()(std::span<const Unit> units) const;

 private:
  const PanelKernels* kernels_;
};

/// Units that follow each other, a panel or pair at a time.
template <typename Visit>
void each_tile(std::span<const Unit> units, Visit visit) {
  for (std::size_t first = 0; first < units.size();) {
    std::size_t end = first;
    while (end < units.size() && units[end].panel == units[first].panel) ++end;
    visit(units.subspan(first, end - first));
    first = end;
  }
}

std::int64_t Costs::operator()(std::span<const Unit> units) const {
  std::int64_t cost = 0;
  each_tile(units, [&](std::span<const Unit> one) {
    cost += tile(one.back().end - one.front().first, one.front().paired);
  });
  return cost;
}

/// As many of the first units, but one at least, as cost no more than `most`.
std::size_t affordable(std::span<const Unit> units, std::int64_t most, const Costs& costs) {
  std::size_t count = 1;
  while (count < units.size() && costs(units.first(count + 1)) <= most) ++count;
  return count;
}

/// The units of each thread, so that the one with most to do has as little as
/// can be.
std::vector<std::span<const Unit>> share_out(std::span<const Unit> units,
                                             int threads,
                                             const Costs& costs) {
  const auto split = [&](std::int64_t most) {
    std::vector<std::span<const Unit>> parts;
    for (auto rest = units; !rest.empty(); rest = rest.subspan(parts.back().size())) {
      parts.push_back(rest.first(affordable(rest, most, costs)));
    }
    return parts;
  };
  std::int64_t low = 0, high = costs(units);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const bool enough = std::ssize(split(middle)) <= threads;
    (enough ? high : low) = middle;
  }
  return split(high);
}

/// The group of some units that follow each other.
TransformerArena::Group group_of(std::span<const Unit> units, const Costs& costs) {
  const int panel = units.front().panel;
  TransformerArena::Group group{panel, {0, units.front().first, units.back().end}, costs(units)};
  for (const Unit& unit : units) {
    const int at = unit.panel - panel;
    if (unit.paired) group.which.paired |= 3u << at;
    group.which.panels = at + unit.panels();
  }
  return group;
}

/// The groups of one thread, of nearly equal size, whole panels and pairs.
void add_groups(std::span<const Unit> units,
                int most_panels,
                const Costs& costs,
                std::vector<TransformerArena::Group>& groups) {
  const std::int64_t total = costs(units);
  const int panels = units.back().panel + units.back().panels() - units.front().panel;
  const int count = (panels + most_panels - 1) / most_panels;
  std::int64_t passed = 0;
  std::size_t first = 0, end = 0;
  int made = 0;
  each_tile(units, [&](std::span<const Unit> tile) {
    const std::int64_t cost = costs(tile);
    // The middle of the tile decides to which group it belongs.
    if (end > first && (2 * passed + cost) * count >= 2 * total * (made + 1)) {
      groups.push_back(group_of(units.subspan(first, end - first), costs));
      first = end;
      ++made;
    }
    passed += cost;
    end += tile.size();
  });
  groups.push_back(group_of(units.subspan(first, end - first), costs));
}

}  // namespace

int Transformer::Impl::undivided(int threads) const {
  const bool adapted = std::any_of(body->blocks.begin(), body->blocks.end(), [](const auto& block) {
    return block.adapter1 || block.adapter2;
  });
  const bool own = threads > 1 && !integers() && !adapted && body->side.empty();
  return own ? kernels->width : kernels->lanes;
}

/// Groups of which each thread has as much to do, the dearest first. The result
/// does not depend on the split: every sum belongs to one token and its pair's.
std::vector<TransformerArena::Group> Transformer::Impl::make_groups(int tokens, int threads) const {
  const std::vector<TransformerBlock>& blocks = body->blocks;
  const bool pairs = !blocks.empty() && blocks[0].up.takes_pairs();
  const std::vector<Unit> units = make_units(tokens, *kernels, undivided(threads), pairs);
  const Costs costs(*kernels);
  std::vector<TransformerArena::Group> groups;
  for (const std::span<const Unit> part : share_out(units, threads, costs)) {
    add_groups(part, kMostPanels, costs, groups);
  }
  std::stable_sort(
      groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.cost > b.cost; });
  return groups;
}

}  // namespace ria
