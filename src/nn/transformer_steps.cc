// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "nn/transformer_impl.h"

namespace ria {

std::vector<const PanelLinear*> TransformerBlock::layers() const {
  std::vector<const PanelLinear*> layers{&qkv, &proj, &up, &down};
  for (const std::optional<TransformerAdapter>* adapter : {&adapter1, &adapter2}) {
    if (*adapter) layers.insert(layers.end(), {&(*adapter)->in, &(*adapter)->out});
  }
  return layers;
}

std::unique_ptr<TransformerArena> Transformer::Impl::make_arena(int tokens, int threads) const {
  auto arena = std::make_unique<TransformerArena>();
  arena->tokens = tokens;
  arena->threads = threads;
  arena->panels = (tokens + kernels->lanes - 1) / kernels->lanes;
  arena->groups = make_groups(tokens, threads);
  int touched = 0;
  for (const auto& group : arena->groups) touched = std::max(touched, group.which.panels);
  const std::size_t panel = width(shape.dim), panels = arena->panels;
  arena->x = AlignedBuffer<float>(panels * panel);
  if (beside()) arena->side = AlignedBuffer<float>(panels * panel);
  const std::vector<TransformerBlock>& blocks = body->blocks;
  if (!blocks.empty() && blocks[0].adapter2 && blocks[0].adapter2->grid) {
    arena->between = AlignedBuffer<float>(panels * output_width(blocks[0].adapter2->in));
  }
  if (!blocks.empty()) {
    arena->qkv = AlignedBuffer<float>(panels * 3 * panel);
    arena->attended = AlignedBuffer<float>(panels * panel);
  }
  if (integers() && !blocks.empty()) {
    arena->keys = AlignedBuffer<std::uint8_t>(panels * panel);
    arena->values = AlignedBuffer<std::int16_t>(panels * panel);
    arena->key_scales = AlignedBuffer<float>(panels * width(shape.heads));
    arena->value_scales = AlignedBuffer<float>(panels * width(shape.heads));
  }
  const std::int64_t widest = std::max({blocks.empty() ? 0 : output_width(blocks[0].up),
                                        width(body->embedding.inputs()),
                                        has_facet ? output_width(facet) : 0});
  arena->scratch.resize(threads);
  for (TransformerArena::Thread& thread : arena->scratch) {
    thread.normalized = AlignedBuffer<float>(touched * panel);
    thread.hidden = AlignedBuffer<float>(touched * widest);
    thread.attention =
        AlignedBuffer<float>(kernels->attention_scratch + kMostQueryPanels * width(head() / 4));
    body->embedding.reserve(touched, thread.linear);
    if (has_facet) facet.reserve(touched, thread.linear);
    if (blocks.empty()) continue;
    for (const PanelLinear* layer : blocks[0].layers()) {
      layer->reserve(touched, thread.linear);
    }
    for (const std::optional<TransformerAdapter>* adapter :
         {&blocks[0].adapter1, &blocks[0].adapter2}) {
      if (*adapter) thread.adapted.reserve(touched * output_width((*adapter)->in));
    }
    for (const TransformerAdapter& side : body->side) {
      thread.adapted.reserve(touched * output_width(side.in));
    }
  }
  return arena;
}

std::unique_ptr<TransformerArena> Transformer::Impl::take(int tokens, int threads) const {
  {
    const std::lock_guard lock(mutex);
    for (auto it = idle.rbegin(); it != idle.rend(); ++it) {
      if ((*it)->tokens != tokens || (*it)->threads != threads) continue;
      std::unique_ptr<TransformerArena> arena = std::move(*it);
      idle.erase(std::next(it).base());
      return arena;
    }
  }
  return make_arena(tokens, threads);
}

void Transformer::Impl::give_back(std::unique_ptr<TransformerArena> arena) const {
  constexpr std::size_t kMostIdle = 4;
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(arena));
  // The threads of a run hold one each; of other sizes only a few are worth their memory.
  if (idle.size() > kMostIdle + static_cast<std::size_t>(omp_get_num_procs())) idle.pop_front();
}

void Transformer::Impl::embed(Work work, const ReadPatches& patches) const {
  const std::int64_t stride = width(body->embedding.inputs());
  for (int p = 0; p < work.which.panels; ++p) {
    const int first = (work.first + p) * kernels->lanes;
    const int count = std::min(kernels->lanes, work.arena.tokens - first);
    patches(first, count, kernels->lanes, work.thread.hidden.data() + p * stride);
  }
  work.run(body->embedding,
           {work.thread.hidden.data(), stride},
           work.at(work.arena.x, width(shape.dim)),
           true);
}

void Transformer::Impl::normalize(Work work, AlignedBuffer<float>& tokens) const {
  const std::int64_t stride = width(shape.dim);
  const Panels x = work.at(tokens, stride);
  for (int p = 0; p < work.which.panels; ++p) {
    const std::int64_t at = p * stride + work.which.first_of(p);
    kernels->normalize(x.data + at,
                       shape.dim,
                       shape.eps,
                       work.which.end_of(p, kernels->lanes) - work.which.first_of(p),
                       work.thread.normalized.data() + at);
  }
}

void Transformer::Impl::start_block(Work work, const TransformerBlock& block) const {
  normalize(work);
  work.run(block.qkv,
           {work.thread.normalized.data(), width(shape.dim)},
           work.at(work.arena.qkv, width(3 * shape.dim)),
           false);
  if (integers()) quantize_heads(work);
}

void Transformer::Impl::quantize_heads(Work work) const {
  TransformerArena& arena = work.arena;
  for (int p = work.first; p < work.first + work.which.panels; ++p) {
    for (int h = 0; h < shape.heads; ++h) {
      const std::int64_t slot = static_cast<std::int64_t>(h) * arena.panels + p;
      const float* key =
          arena.qkv.data() + p * width(3 * shape.dim) + width(shape.dim + h * head());
      kernels->quantize_keys(key,
                             head(),
                             arena.keys.data() + slot * width(head()),
                             arena.key_scales.data() + slot * kernels->lanes);
      kernels->quantize_values(key + width(shape.dim),
                               head(),
                               arena.values.data() + slot * width(head()),
                               arena.value_scales.data() + slot * kernels->lanes);
    }
  }
}

void Transformer::Impl::attend(TransformerArena& arena) const {
  const std::int64_t stride = width(3 * shape.dim), out_stride = width(shape.dim);
  const int groups = (arena.panels + kMostQueryPanels - 1) / kMostQueryPanels;
#pragma omp parallel for schedule(dynamic, 1) num_threads(arena.threads)
  for (int task = 0; task < shape.heads * groups; ++task) {
    const int h = task / groups, g = task % groups;
    const int p = arena.panels * g / groups, count = arena.panels * (g + 1) / groups - p;
    const float* first = arena.qkv.data() + width(h * head());
    float* out = arena.attended.data() + p * out_stride + width(h * head());
    float* scratch = arena.scratch[omp_get_thread_num()].attention.data();
    if (integers()) {
      const std::int64_t slot = static_cast<std::int64_t>(h) * arena.panels;
      kernels->attention_int8({first + p * stride,
                               stride,
                               arena.keys.data() + slot * width(head()),
                               arena.values.data() + slot * width(head()),
                               arena.key_scales.data() + slot * kernels->lanes,
                               arena.value_scales.data() + slot * kernels->lanes,
                               count,
                               arena.tokens,
                               head(),
                               out,
                               out_stride,
                               scratch});
    } else {
      kernels->attention({first + p * stride,
                          first + width(shape.dim),
                          first + 2 * width(shape.dim),
                          stride,
                          count,
                          arena.tokens,
                          head(),
                          out,
                          out_stride,
                          scratch});
    }
  }
}

/// x += the attended values through proj, and past adapter1 where there is one.
void Transformer::Impl::add_attended(Work work, const TransformerBlock& block) const {
  const std::int64_t stride = width(shape.dim);
  const Panels x = work.at(work.arena.x, stride), attended = work.at(work.arena.attended, stride);
  if (!block.adapter1) return work.run(block.proj, attended, x, true);
  const Panels y{work.thread.normalized.data(), stride};  // free until the second norm
  const Panels adapted{work.thread.adapted.data(), output_width(block.adapter1->in)};
  work.run(block.proj, attended, y, false);
  for (int p = 0; p < work.which.panels; ++p) {
    const float* from = y.data + p * stride;
    float* to = x.data + p * stride;
    for (int c = 0; c < shape.dim; ++c, from += kernels->lanes, to += kernels->lanes) {
      for (int t = 0; t < kernels->lanes; ++t) to[t] += block.skip[c] * from[t];
    }
  }
  work.run(block.adapter1->in, y, adapted, false, Activation::kRelu);
  work.run(block.adapter1->out, adapted, x, true);
}

void Transformer::Impl::finish_block(Work work, const TransformerBlock& block) const {
  const std::int64_t stride = width(shape.dim), up_stride = output_width(block.up);
  const Panels x = work.at(work.arena.x, stride), normalized{work.thread.normalized.data(), stride};
  add_attended(work, block);
  normalize(work);
  Panels adapted;
  const bool whole_grid = block.adapter2 && block.adapter2->grid;
  if (block.adapter2) {
    const std::int64_t in_stride = output_width(block.adapter2->in);
    adapted = whole_grid ? work.at(work.arena.between, in_stride)
                         : Panels{work.thread.adapted.data(), in_stride};
    work.run(block.adapter2->in, normalized, adapted, false, Activation::kRelu);
    if (integers()) normalize(work);  // int8 has emptied the outlying channels
  }
  const Panels hidden{work.thread.hidden.data(), up_stride};
  work.run(
      block.up, normalized, hidden, false, shape.gated ? Activation::kNone : Activation::kGelu);
  for (int p = 0; shape.gated && p < work.which.panels; ++p) {
    float* gate = hidden.data + p * up_stride;
    kernels->gate(gate, gate + width(shape.hidden), shape.hidden, gate);
  }
  work.run(block.down, hidden, x, true);
  if (block.adapter2 && !whole_grid) work.run(block.adapter2->out, adapted, x, true);
}

void Transformer::Impl::write_out(Work work, const RowOf& row_of) const {
  const int channels = has_facet ? facet.outputs() : shape.dim;
  AlignedBuffer<float>& tokens = beside() ? work.arena.side : work.arena.x;
  Panels from = work.at(tokens, width(shape.dim));
  if (has_facet || !final_norm.weight.empty()) {
    normalize(work, tokens);
    from = {work.thread.normalized.data(), width(shape.dim)};
  }
  if (has_facet) {
    const Panels y{work.thread.hidden.data(), output_width(facet)};
    work.run(facet, from, y, false);
    from = y;
  }
  for (int p = 0; p < work.which.panels; ++p) {
    const int first = (work.first + p) * kernels->lanes;
    const float* panel = from.data + p * from.stride;
    for (int t = work.which.first_of(p); t < work.which.end_of(p, kernels->lanes); ++t) {
      float* row = row_of(first + t);
      if (row == nullptr) continue;
      for (int c = 0; c < channels; ++c) row[c] = panel[c * kernels->lanes + t];
      for (std::size_t c = 0; c < final_norm.weight.size(); ++c) {
        row[c] = row[c] * final_norm.weight[c] + final_norm.bias[c];
      }
    }
  }
}

}  // namespace ria
