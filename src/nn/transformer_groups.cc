// SPDX-License-Identifier: MIT
// How the tokens of a picture are split between the threads.
#include <algorithm>

#include "nn/transformer_impl.h"

namespace ria {

namespace {

/// Lanes of a panel, or of both panels of a pair, that stay together.
struct Unit {
  int panel, first, end;
  bool paired;
  std::int64_t cost;  // of the products; those of a pair take 7 instead of 8
};

/// Whole panels are paired with the next, by the number of tokens alone: who is paired with whom
/// decides the rounding. One that is left over lies in the middle, and threads share it.
std::vector<Unit> make_units(int tokens, const PanelKernels& kernels, int together, bool pairs) {
  std::vector<Unit> units;
  const int lanes = kernels.lanes;
  const int whole = tokens / lanes, middle = whole % 2 == 1 ? whole / 4 * 2 : whole;
  for (int panel = 0; panel * lanes < tokens;) {
    const bool paired = pairs && panel < whole && panel != middle;
    const int used = std::min(lanes, tokens - panel * lanes);
    for (int lane = 0; lane < used; lane += together) {
      const int end = std::min(lane + together, used);
      const int vectors = (end - lane + kernels.width - 1) / kernels.width;
      units.push_back({panel, lane, end, paired, vectors * (paired ? 14 : 8)});
    }
    panel += paired ? 2 : 1;
  }
  return units;
}

/// The group of some units that follow each other.
TransformerArena::Group group_of(const Unit* first, const Unit* last) {
  TransformerArena::Group group{first->panel, {0, first->first, last->end}, 0};
  for (const Unit* unit = first; unit <= last; ++unit) {
    const int at = unit->panel - first->panel;
    if (unit->paired) group.which.paired |= 3u << at;
    group.which.panels = at + (unit->paired ? 2 : 1);
    group.cost += unit->cost;
  }
  return group;
}

}  // namespace

int Transformer::Impl::undivided(int threads) const {
  const bool adapted = std::any_of(body->blocks.begin(), body->blocks.end(), [](const auto& block) {
    return block.adapter1 || block.adapter2;
  });
  const bool own = threads > 1 && !integers() && !adapted && body->side.empty();
  return own ? kernels->width : kernels->lanes;
}

/// Groups of nearly equal cost, the dearest first, the same number for every thread. The result
/// does not depend on the split: every sum belongs to one token and its pair's.
std::vector<TransformerArena::Group> Transformer::Impl::make_groups(int tokens, int threads) const {
  const std::vector<TransformerBlock>& blocks = body->blocks;
  const bool pairs = !blocks.empty() && blocks[0].up.takes_pairs();
  const std::vector<Unit> units = make_units(tokens, *kernels, undivided(threads), pairs);
  const int count = static_cast<int>(units.size());
  const int share = threads * kMostPanels * kernels->lanes;
  const int groups = std::min(count, threads * ((tokens + share - 1) / share));
  std::int64_t total = 0, passed = 0;
  for (const Unit& unit : units) total += unit.cost;
  std::vector<TransformerArena::Group> result;
  for (int g = 1, end = 0; g <= groups; ++g) {
    const int first = end, last = count - (groups - g);  // the other groups have a unit each
    do {
      passed += units[end++].cost;
    } while (end < last && 2 * (total * g - passed * groups) >= units[end].cost * groups);
    result.push_back(group_of(&units[first], &units[end - 1]));
  }
  std::stable_sort(
      result.begin(), result.end(), [](const auto& a, const auto& b) { return a.cost > b.cost; });
  return result;
}

}  // namespace ria
