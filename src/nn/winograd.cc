// SPDX-License-Identifier: MIT
#include "nn/winograd.h"

#include <omp.h>

#include <algorithm>
#include <array>

#include "util/cpu.h"
#include "util/multiversion.h"

namespace ria {

namespace {

// Bytes of a panel's weights that stay near while tiles pass by: more inputs are taken in slices.
constexpr int kSliceBytes = 36 << 10;
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

int rounded_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

/// Vectors of outputs are shared by panels of three and, for the rest, of two: one alone would
/// leave the kernel waiting for its own sums.
constexpr int kVectors = 3;

int vectors_of(const Convolution& conv, const PanelKernels& kernels) {
  return conv.out / kernels.width;
}

int panels_of(const Convolution& conv, const PanelKernels& kernels) {
  return (vectors_of(conv, kernels) + kVectors - 1) / kVectors;
}

struct PanelOutputs {
  int first, count;
};

PanelOutputs panel_outputs(const Convolution& conv, const PanelKernels& kernels, int panel) {
  const int panels = panels_of(conv, kernels);
  const int narrow = panels * kVectors - vectors_of(conv, kernels);  // panels of two, at the end
  const int before = panel * kVectors - std::max(panel - (panels - narrow), 0);
  return {before * kernels.width, (panel < panels - narrow ? kVectors : 2) * kernels.width};
}

constexpr int kMostLanes = 48;  // of any panel

struct PanelFilters {
  int inputs, outputs, lanes;
};

/// G g G^T of the filters of one panel, all outputs side by side: [position][input][lane].
RIA_MULTIVERSION
void pack_panel(const float* filters,
                const PanelFilters& count,
                const FilterTransform& down,
                int rows,
                const FilterTransform& across,
                int columns,
                float* panel) {
  double g[9][kMostLanes], partial[3][kMostLanes];
  for (int in = 0; in < count.inputs; ++in) {
    for (int lane = 0; lane < count.outputs; ++lane) {
      const float* filter = filters + (static_cast<std::size_t>(lane) * count.inputs + in) * 9;
      for (int t = 0; t < 9; ++t) g[t][lane] = filter[t];
    }
    for (int r = 0; r < rows; ++r) {
      for (int x = 0; x < 3; ++x) {
        for (int lane = 0; lane < count.outputs; ++lane) {
          partial[x][lane] =
              down[r][0] * g[x][lane] + down[r][1] * g[3 + x][lane] + down[r][2] * g[6 + x][lane];
        }
      }
      for (int c = 0; c < columns; ++c) {
        const std::size_t position = r * columns + c;
        float* out = panel + (position * count.inputs + in) * count.lanes;
        for (int lane = 0; lane < count.outputs; ++lane) {
          out[lane] =
              static_cast<float>(across[c][0] * partial[0][lane] + across[c][1] * partial[1][lane] +
                                 across[c][2] * partial[2][lane]);
        }
      }
    }
  }
}

}  // namespace

WinogradWeights::WinogradWeights(const Convolution& conv,
                                 const PanelKernels& kernels,
                                 const WinogradKernels& transforms)
    : conv_(conv), kernels_(kernels), transforms_(transforms) {
  const int panels = panels_of(conv, kernels);
  const std::size_t panel_size = static_cast<std::size_t>(positions()) * conv.in * kernels.lanes;
  values_ = AlignedBuffer<float>(panels * panel_size);
  for (int panel = 0; panel < panels; ++panel) {
    const PanelOutputs outputs = panel_outputs(conv, kernels, panel);
    pack_panel(conv.weight.data() + static_cast<std::size_t>(outputs.first) * conv.in * 9,
               {conv.in, outputs.count, kernels.lanes},
               filter_transform(transforms.tile_rows),
               transforms.tile_rows + 2,
               filter_transform(transforms.tile_columns),
               transforms.tile_columns + 2,
               values_.data() + panel * panel_size);
  }
}

WinogradLayer::WinogradLayer(const WinogradWeights& weights,
                             const WinogradTensor& source,
                             const WinogradTensor& target,
                             int threads)
    : weights_(weights), source_(source), target_(target), threads_(threads) {
  const int tile_rows = weights.transforms_.tile_rows;
  const int tile_columns = weights.transforms_.tile_columns;
  tiles_x_ = (source.width + tile_columns - 1) / tile_columns;
  tiles_ = (source.height + tile_rows - 1) / tile_rows * tiles_x_;

  const int inputs = weights.conv_.in, rows = weights.kernels_.rows, lanes = weights.kernels_.lanes;
  const int value_bytes = weights.positions() * static_cast<int>(sizeof(float));
  const int near = core_cache_bytes() / 8 * 5 / (value_bytes * (inputs + lanes)) / rows * rows;
  // A thread that keeps tiles near reads all weights once for them; one that keeps a panel's
  // weights near reads all tiles once for its lanes. The first needs no other thread.
  shared_ = near < lanes;
  const int most = std::max(shared_ ? core_cache_bytes() / (value_bytes * lanes) : near, rows);
  const int at_once = shared_ ? 1 : threads;
  const int rounds = (tiles_ + most * at_once - 1) / (most * at_once);
  chunk_ = rounded_up((tiles_ + rounds * at_once - 1) / (rounds * at_once), rows);
  input_stride_ = static_cast<std::int64_t>(chunk_) * inputs + kPadding;
  product_stride_ = static_cast<std::int64_t>(chunk_) * lanes + kPadding;
}

std::size_t WinogradLayer::scratch_size() const {
  const std::int64_t inputs = shared_ ? 1 : threads_;
  return weights_.positions() * (inputs * input_stride_ + threads_ * product_stride_) *
         sizeof(float);
}

void WinogradLayer::run(
    const float* source, float* target, bool residual, bool relu, float* scratch) const {
  const int positions = weights_.positions(), rows = weights_.kernels_.rows;
  const int panels = panels_of(weights_.conv_, weights_.kernels_);
#pragma omp parallel num_threads(threads_)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    float* inputs = scratch + (shared_ ? 0 : thread) * positions * input_stride_;
    float* products = scratch + (shared_ ? 1 : threads_) * positions * input_stride_ +
                      thread * positions * product_stride_;
    const Task task{source, {target, weights_.conv_.bias.data(), residual, relu}, inputs, products};
    if (shared_) {
      const auto share = [team](int count, int i) {
        return static_cast<int>(static_cast<std::int64_t>(count) * i / team);
      };
      for (int first = 0; first < tiles_; first += chunk_) {
        const int groups = (std::min(chunk_, tiles_ - first) + rows - 1) / rows;
        const int units = panels * groups;
        transform(task, first, share(groups, thread), share(groups, thread + 1));
#pragma omp barrier
        multiply(task, first, groups, share(units, thread), share(units, thread + 1));
#pragma omp barrier
      }
    } else {
#pragma omp for schedule(dynamic)
      for (int first = 0; first < tiles_; first += chunk_) {
        const int groups = (std::min(chunk_, tiles_ - first) + rows - 1) / rows;
        transform(task, first, 0, groups);
        multiply(task, first, groups, 0, panels * groups);
      }
    }
  }
}

/// Group by group, in each vector by vector: neighbouring tiles read neighbouring pixels.
void WinogradLayer::transform(const Task& task, int first, int begin, int end) const {
  const WinogradKernels& transforms = weights_.transforms_;
  const int inputs = weights_.conv_.in, rows = weights_.kernels_.rows;
  for (int group = begin; group < end; ++group) {
    for (int channel = 0; channel < inputs; channel += weights_.kernels_.width) {
      for (int i = group * rows; i < (group + 1) * rows; ++i) {
        // Tiles that fill up the last group repeat the last: their products are not looked at.
        const int tile = std::min(first + i, tiles_ - 1);
        transforms.transform_input(task.source,
                                   source_,
                                   channel,
                                   tile / tiles_x_ * transforms.tile_rows,
                                   tile % tiles_x_ * transforms.tile_columns,
                                   task.inputs + static_cast<std::int64_t>(i) * inputs + channel,
                                   input_stride_);
      }
    }
  }
}

void WinogradLayer::multiply(const Task& task, int first, int groups, int begin, int end) const {
  const int rows = weights_.kernels_.rows;
  while (begin < end) {
    const int panel = begin / groups, group = begin % groups;
    const int count = std::min(groups - group, end - begin);
    const int tile = first + group * rows;
    multiply_panel(task, panel, group, count);
    finish_panel(task, panel, tile, std::min(count * rows, tiles_ - tile));
    begin += count;
  }
}

void WinogradLayer::multiply_panel(const Task& task, int panel, int group, int count) const {
  const PanelKernels& kernels = weights_.kernels_;
  const int inputs = weights_.conv_.in;
  const int outputs = panel_outputs(weights_.conv_, kernels, panel).count;
  const int most = kSliceBytes / static_cast<int>(kernels.lanes * sizeof(float));
  const int slices = (inputs + most - 1) / most, slice = (inputs + slices - 1) / slices;
  const std::int64_t position_size = static_cast<std::int64_t>(inputs) * kernels.lanes;
  for (int p = 0; p < weights_.positions(); ++p) {
    const float* values =
        weights_.values_.data() + (panel * weights_.positions() + p) * position_size;
    const float* tiles = task.inputs + p * input_stride_ + group * kernels.rows * inputs;
    for (int k = 0; k < inputs; k += slice) {
      kernels.product_rows(tiles + k,
                           inputs,
                           count,
                           values + k * kernels.lanes,
                           std::min(slice, inputs - k),
                           outputs,
                           task.products + p * product_stride_,
                           {nullptr, k > 0});
    }
  }
}

void WinogradLayer::finish_panel(const Task& task, int panel, int first, int count) const {
  const WinogradKernels& transforms = weights_.transforms_;
  const PanelOutputs outputs = panel_outputs(weights_.conv_, weights_.kernels_, panel);
  for (int lane = 0; lane < outputs.count; lane += weights_.kernels_.width) {
    for (int tile = first; tile < first + count; ++tile) {
      transforms.transform_output(
          task.products + static_cast<std::int64_t>(tile - first) * weights_.kernels_.lanes + lane,
          product_stride_,
          target_,
          outputs.first + lane,
          tile / tiles_x_ * transforms.tile_rows,
          tile % tiles_x_ * transforms.tile_columns,
          task.result);
    }
  }
}

}  // namespace ria
