// SPDX-License-Identifier: MIT
#include "nn/winograd.h"

#include <omp.h>

#include <algorithm>
#include <array>

namespace ria {

namespace {

constexpr int kLanes = 24, kRows = 4;  // of the product kernels that are used
static_assert(kRows == kWinogradGroup);
constexpr int kBlocks = kLanes / kWinogradBlock;

constexpr int kFewestChannels = 64;
constexpr int kMostPairs = 256 * 256;  // of channels, for large tiles
constexpr int kSlice = 384;            // inputs that are multiplied before the next are looked at
constexpr int kRoom = 320 << 10;       // bytes of transformed tiles that a core's cache keeps
// From so many inputs on, a core's cache holds so few tiles that reading the weights takes longer
// than multiplying: then all threads share what has been transformed, and split the outputs.
constexpr int kSharedInputs = 256;
constexpr int kSharedGroups = 48;  // of tiles, whose products of one panel a core's cache keeps
// Between positions, so that they do not all fall on the same lines of the cache.
constexpr int kPadding = 32;

using FilterTransform = std::array<std::array<double, 3>, 6>;

/// G for tiles of 2 or 4.
const FilterTransform& filter_transform(int tile) {
  constexpr double kA = kWinogradNear, kB = kWinogradFar;
  static const FilterTransform two{{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
  static const FilterTransform four = [] {
    FilterTransform g{{{1 / (kA * kA * kB * kB), 0, 0}, {}, {}, {}, {}, {0, 0, 1}}};
    const double near = 2 * kA * kA * (kA * kA - kB * kB), far = 2 * kB * kB * (kB * kB - kA * kA);
    g[1] = {1 / near, kA / near, kA * kA / near};
    g[2] = {1 / near, -kA / near, kA * kA / near};
    g[3] = {1 / far, kB / far, kB * kB / far};
    g[4] = {1 / far, -kB / far, kB * kB / far};
    return g;
  }();
  return tile == 2 ? two : four;
}

/// Blocks of outputs are shared by panels of three and, for the rest, of two: one alone would leave
/// the kernel waiting for its own sums.
int panels_of(int blocks) { return (blocks + kBlocks - 1) / kBlocks; }

struct PanelOutputs {
  int first, count;  // blocks
};

PanelOutputs panel_outputs(int blocks, int panel) {
  const int narrow = panels_of(blocks) * kBlocks - blocks;  // panels of two, at the end
  const int wide = panels_of(blocks) - narrow;
  if (panel < wide) return {panel * kBlocks, kBlocks};
  return {wide * kBlocks + (panel - wide) * (kBlocks - 1), kBlocks - 1};
}

}  // namespace

bool WinogradWeights::fits(const Convolution& conv) {
  const PanelKernels& best = *panel_kernels().front();
  return best.lanes == kLanes && best.rows == kRows && conv.kernel == 3 && conv.stride == 1 &&
         conv.pad == 1 && conv.in % kWinogradBlock == 0 && conv.out % kWinogradBlock == 0 &&
         conv.in >= kFewestChannels && conv.out >= kFewestChannels;
}

/// Where channels are many and pixels few, it is the weights that take the time: smaller tiles have
/// fewer of them.
const WinogradKernels& WinogradWeights::best_kernels(const Convolution& conv) {
  return conv.in * conv.out <= kMostPairs ? kWinograd4x4 : kWinograd2x4;
}

WinogradWeights::WinogradWeights(const Convolution& conv, const WinogradKernels& kernels)
    : conv_(conv), kernels_(kernels), products_(*panel_kernels().front()) {
  const int blocks = conv.out / kWinogradBlock, panels = panels_of(blocks);
  const std::size_t panel_size = static_cast<std::size_t>(kernels.positions()) * conv.in * kLanes;
  values_ = AlignedBuffer<float>(panels * panel_size);
#pragma omp parallel for schedule(static)
  for (int panel = 0; panel < panels; ++panel) {
    const PanelOutputs outputs = panel_outputs(blocks, panel);
    for (int lane = 0; lane < outputs.count * kWinogradBlock; ++lane) {
      pack(outputs.first * kWinogradBlock + lane, values_.data() + panel * panel_size + lane);
    }
  }
}

/// G g G^T of all inputs of one output.
void WinogradWeights::pack(int out, float* lane) const {
  const int rows = kernels_.tile_rows + 2, columns = kernels_.tile_columns + 2;
  const FilterTransform& down = filter_transform(kernels_.tile_rows);
  const FilterTransform& across = filter_transform(kernels_.tile_columns);
  for (int in = 0; in < conv_.in; ++in) {
    const float* g = conv_.weight.data() + (static_cast<std::size_t>(out) * conv_.in + in) * 9;
    const int k = in / kWinogradBlock * kWinogradBlock + kWinogradOrder[in % kWinogradBlock];
    for (int r = 0; r < rows; ++r) {
      double partial[3];
      for (int x = 0; x < 3; ++x) {
        partial[x] = down[r][0] * g[x] + down[r][1] * g[3 + x] + down[r][2] * g[6 + x];
      }
      for (int c = 0; c < columns; ++c) {
        const double value =
            across[c][0] * partial[0] + across[c][1] * partial[1] + across[c][2] * partial[2];
        const std::size_t position = r * columns + c;
        lane[(position * conv_.in + k) * kLanes] = static_cast<float>(value);
      }
    }
  }
}

WinogradLayer::WinogradLayer(const WinogradWeights& weights,
                             int height,
                             int width,
                             WinogradLayout source,
                             WinogradLayout target,
                             int threads)
    : weights_(weights), source_layout_(source), target_layout_(target), threads_(threads) {
  const WinogradKernels& kernels = weights.kernels_;
  const int tiles_x = (width + kernels.tile_columns - 1) / kernels.tile_columns;
  source_ = {height, width, source.pixel, tiles_x};
  target_ = {height, width, target.pixel, tiles_x};
  tiles_ = (height + kernels.tile_rows - 1) / kernels.tile_rows * tiles_x;

  const Convolution& conv = weights.conv_;
  const int groups = (tiles_ + kRows - 1) / kRows;
  const int group_bytes =
      kernels.positions() * kRows * (conv.in + kLanes) * static_cast<int>(sizeof(float));
  shared_ = conv.in >= kSharedInputs;
  const int most = shared_ ? kSharedGroups : std::max(kRoom / group_bytes, 1);
  const int at_once = shared_ ? 1 : threads;
  const int rounds = (groups + most * at_once - 1) / (most * at_once);
  chunk_ = (groups + rounds * at_once - 1) / (rounds * at_once) * kRows;
  input_stride_ = static_cast<std::int64_t>(chunk_) * conv.in + kPadding;
  product_stride_ = static_cast<std::int64_t>(chunk_) * kLanes + kPadding;
}

std::size_t WinogradLayer::scratch_size() const {
  const std::int64_t inputs = shared_ ? 1 : threads_;
  return weights_.kernels_.positions() * (inputs * input_stride_ + threads_ * product_stride_) *
         sizeof(float);
}

void WinogradLayer::run(
    const float* source, float* target, bool residual, bool relu, float* scratch) const {
  const int positions = weights_.kernels_.positions();
  const int panels = panels_of(weights_.conv_.out / kWinogradBlock);
#pragma omp parallel num_threads(threads_)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    float* inputs = scratch + (shared_ ? 0 : thread) * positions * input_stride_;
    float* products = scratch + (shared_ ? 1 : threads_) * positions * input_stride_ +
                      thread * positions * product_stride_;
    const Task task{source, target, residual, relu, inputs, products};
    if (shared_) {
      const auto share = [team](int count, int i) {
        return static_cast<int>(static_cast<std::int64_t>(count) * i / team);
      };
      for (int first = 0; first < tiles_; first += chunk_) {
        const int groups = (std::min(chunk_, tiles_ - first) + kRows - 1) / kRows;
        const int units = panels * groups;
        transform(task, first, share(groups, thread), share(groups, thread + 1));
#pragma omp barrier
        multiply(task, first, groups, share(units, thread), share(units, thread + 1));
#pragma omp barrier
      }
    } else {
#pragma omp for schedule(dynamic)
      for (int first = 0; first < tiles_; first += chunk_) {
        const int groups = (std::min(chunk_, tiles_ - first) + kRows - 1) / kRows;
        transform(task, first, 0, groups);
        multiply(task, first, groups, 0, panels * groups);
      }
    }
  }
}

void WinogradLayer::transform(const Task& task, int first, int begin, int end) const {
  const int inputs = weights_.conv_.in;
  for (int group = begin; group < end; ++group) {
    const int tile = group * kRows;
    for (int block = 0; block < inputs / kWinogradBlock; ++block) {
      weights_.kernels_.transform_input(
          task.source + block * source_layout_.block,
          source_,
          first + tile,
          std::min(kRows, tiles_ - first - tile),
          task.inputs + static_cast<std::int64_t>(tile) * inputs + block * kWinogradBlock * kRows,
          input_stride_);
    }
  }
}

void WinogradLayer::multiply(const Task& task, int first, int groups, int begin, int end) const {
  const int blocks = weights_.conv_.out / kWinogradBlock;
  while (begin < end) {
    const int panel = begin / groups, group = begin % groups;
    const int count = std::min(groups - group, end - begin);
    multiply_panel(task, panel, group, count);
    const PanelOutputs outputs = panel_outputs(blocks, panel);
    const int tile = first + group * kRows;
    for (int b = 0; b < outputs.count; ++b) {
      const int block = outputs.first + b;
      weights_.kernels_.transform_output(task.products + b * kWinogradBlock,
                                         product_stride_,
                                         kLanes,
                                         target_,
                                         tile,
                                         std::min(count * kRows, tiles_ - tile),
                                         weights_.conv_.bias.data() + block * kWinogradBlock,
                                         task.residual,
                                         task.relu,
                                         task.target + block * target_layout_.block);
    }
    begin += count;
  }
}

void WinogradLayer::multiply_panel(const Task& task, int panel, int group, int count) const {
  const std::int64_t inputs = weights_.conv_.in;
  const int positions = weights_.kernels_.positions();
  const int outputs =
      panel_outputs(weights_.conv_.out / kWinogradBlock, panel).count * kWinogradBlock;
  for (int p = 0; p < positions; ++p) {
    const float* values = weights_.values_.data() +
                          (static_cast<std::int64_t>(panel) * positions + p) * inputs * kLanes;
    const float* tiles = task.inputs + p * input_stride_ + group * kRows * inputs;
    for (int k = 0; k < inputs; k += kSlice) {
      weights_.products_.product(tiles + k * kRows,
                                 inputs * kRows,
                                 count,
                                 values + k * kLanes,
                                 std::min(kSlice, static_cast<int>(inputs) - k),
                                 outputs,
                                 task.products + p * product_stride_,
                                 {nullptr, k > 0});
    }
  }
}

}  // namespace ria
