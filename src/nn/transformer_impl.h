// SPDX-License-Identifier: MIT
// What a transformer holds and the steps of running it.
#pragma once

#include <omp.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "nn/transformer.h"

namespace ria {

struct TransformerAdapter {
  PanelLinear in, out;
  std::shared_ptr<const ConvNet> grid;  // over the patches between the two; nullptr: none
};

struct TransformerBlock {
  PanelLinear qkv, proj, up, down;
  std::optional<TransformerAdapter> adapter1, adapter2;
  std::vector<float> skip;  // what scales proj's outputs past adapter1; without it proj has them

  std::vector<const PanelLinear*> layers() const;
};

/// What transformers that differ in their last step share.
struct TransformerBody {
  PanelLinear embedding;
  std::vector<TransformerBlock> blocks;
  std::vector<TransformerAdapter> side;  // of each block, or none
};

/// Everything a number of tokens needs, for one caller at a time.
struct TransformerArena {
  int tokens = 0, threads = 0, panels = 0;
  AlignedBuffer<float> x, qkv, attended;
  AlignedBuffer<float> side;           // the path beside the blocks, where there is one
  AlignedBuffer<float> between;        // adapters with a grid: what in gives, for all tokens
  Pixels map;                          // the same of the patches, channel by channel
  AlignedBuffer<std::uint8_t> keys;    // int8: [head][panel][channel / 4][lane][4]
  AlignedBuffer<std::int16_t> values;  // int8: [head][panel][channel][lane]
  AlignedBuffer<float> key_scales, value_scales;  // int8: [head][token]
  struct Thread {
    AlignedBuffer<float> normalized, hidden, attention, adapted;
    LinearScratch linear;
  };
  std::vector<Thread> scratch;
  /// Tokens that meet the weights together, read from memory once for them.
  struct Group {
    int first;  // panel
    PanelLanes which;
    std::int64_t cost;
  };
  std::vector<Group> groups;
};

struct Transformer::Impl {
  static constexpr int kMostPanels = 4;  // of a group, if they were whole

  TransformerShape shape;
  Precision precision;
  const PanelKernels* kernels = panel_kernels().front();
  std::shared_ptr<TransformerBody> body = std::make_shared<TransformerBody>();
  PanelLinear facet;
  bool has_facet = false;
  NormSource final_norm;

  mutable std::mutex mutex;
  mutable std::deque<std::unique_ptr<TransformerArena>> idle;

  int head() const { return shape.dim / shape.heads; }
  bool integers() const { return precision == Precision::kInt8; }
  std::int64_t width(int channels) const {
    return static_cast<std::int64_t>(channels) * kernels->lanes;
  }
  /// Room for a layer's outputs, which come in whole groups of rows.
  std::int64_t output_width(const PanelLinear& layer) const {
    return width((layer.outputs() + kernels->rows - 1) / kernels->rows * kernels->rows);
  }

  std::unique_ptr<TransformerArena> make_arena(int tokens, int threads) const;
  std::unique_ptr<TransformerArena> take(int tokens, int threads) const;
  void give_back(std::unique_ptr<TransformerArena> arena) const;

  /// Some lanes of a picture and the thread that works on them.
  struct Work {
    TransformerArena& arena;
    TransformerArena::Thread& thread;
    int first;  // panel
    PanelLanes which;
    Panels at(AlignedBuffer<float>& buffer, std::int64_t stride) const {
      return {buffer.data() + first * stride, stride};
    }
    void run(const PanelLinear& layer,
             Panels x,
             Panels y,
             bool accumulate,
             Activation activation = Activation::kNone) const {
      layer.run(x, y, which, accumulate, activation, thread.linear);
    }
  };
  /// Lanes that threads do not share: a vector where every step keeps to its own, else a panel.
  int undivided(int threads) const;
  std::vector<TransformerArena::Group> make_groups(int tokens, int threads) const;
  template <typename Run>
  void each_group(TransformerArena& arena, Run run) const;

  void embed(Work work, const ReadPatches& patches) const;
  void normalize(Work work) const { normalize(work, work.arena.x); }
  void normalize(Work work, AlignedBuffer<float>& tokens) const;
  void start_block(Work work, const TransformerBlock& block) const;
  void quantize_heads(Work work) const;
  void attend(TransformerArena& arena) const;
  void add_attended(Work work, const TransformerBlock& block) const;
  void finish_block(Work work, const TransformerBlock& block) const;
  /// Adds what the grid of adapter2 makes of the patches to what its first layer made.
  void add_grid(TransformerArena& arena,
                const TransformerAdapter& adapter,
                const PatchGrid& grid) const;
  void leave_adapter(Work work, const TransformerAdapter& adapter) const;
  void start_side(Work work) const;
  void follow_side(Work work, const TransformerAdapter& adapter) const;
  bool beside() const { return !body->side.empty() && !has_facet; }
  void write_out(Work work, const RowOf& row_of) const;
};

template <typename Run>
void Transformer::Impl::each_group(TransformerArena& arena, Run run) const {
  const int groups = static_cast<int>(arena.groups.size());
#pragma omp parallel for schedule(dynamic, 1) num_threads(arena.threads)
  for (int g = 0; g < groups; ++g) {
    const TransformerArena::Group& group = arena.groups[g];
    run(Work{arena, arena.scratch[omp_get_thread_num()], group.first, group.which});
  }
}

}  // namespace ria
