// SPDX-License-Identifier: MIT
// Pairs of panels, multiplied by halves in fewer products; see StrassenTask.
#include <bit>

#include "nn/panel_linear.h"

namespace ria {

namespace {

/// Calls run(pair, first panel of it).
template <typename Run>
void each_pair(const PanelLanes& which, Run run) {
  int pair = 0;
  for (int p = 0; p < which.panels; ++p) {
    if (!which.is_alone(p)) run(pair++, p++);
  }
}

}  // namespace

/// The sums of a slice's inputs and of its first weights.
void PanelLinear::start_pairs(Panels x,
                              const PanelLanes& which,
                              const Block& block,
                              LinearScratch& scratch) const {
  const int lanes = kernels_->lanes, half = block.length / 2;
  each_pair(which, [&](int pair, int p) {
    const int lane = which.first_of(p);
    const float* first =
        x.data + p * x.stride + static_cast<std::int64_t>(block.input) * lanes + lane;
    kernels_->strassen_inputs(first,
                              first + x.stride,
                              half,
                              which.end_of(p, lanes) - lane,
                              scratch.input_sums.data() + pair * 2 * slice_ * lanes + lane);
  });
  kernels_->strassen_weights(
      weights_.data() + offset(0, block.input), half, scratch.weight_sums.data());
}

/// Pair by pair, for each all groups of the block: the block's weights stay in the cache with the
/// sums of one pair, and to make the weights' sums again for the next costs nothing.
void PanelLinear::run_pairs(Panels x,
                            const Outputs& outputs,
                            const Block& block,
                            LinearScratch& scratch) const {
  const int rows = kernels_->rows, lanes = kernels_->lanes, room = 2 * slice_ * rows;
  const int end = block.group + block.groups, pairs = std::popcount(outputs.which.paired) / 2;
  const auto& [y, which, finish] = outputs;
  each_pair(which, [&](int pair, int p) {
    const int lane = which.first_of(p);
    const float* in = x.data + p * x.stride + static_cast<std::int64_t>(block.input) * lanes + lane;
    for (int group = block.group; group < end; group += 2) {
      const int done =
          block.group / 2 * pairs + pair * block.groups / 2 + (group - block.group) / 2;
      const int next = group + 2 < end || pair + 1 == pairs ? group + 2 : block.group;
      float* out = y.data + p * y.stride + static_cast<std::int64_t>(group) * rows * lanes + lane;
      kernels_->strassen({weights_.data() + offset(group, block.input),
                          scratch.weight_sums.data() + done % 2 * room,
                          {in, in + x.stride},
                          scratch.input_sums.data() + pair * 2 * slice_ * lanes + lane,
                          block.length / 2,
                          which.end_of(p, lanes) - lane,
                          {out, out + y.stride},
                          part_of(finish, group, block.input, block.input + block.length),
                          next < groups_ ? weights_.data() + offset(next, block.input) : nullptr,
                          scratch.weight_sums.data() + (done + 1) % 2 * room});
    }
  });
}

}  // namespace ria
