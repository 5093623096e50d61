// SPDX-License-Identifier: MIT
#include "nn/transformer.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

namespace ria {

namespace {

constexpr int kMostPanels = 4;  // that meet the weights together, read from memory once for them

/// Queries come out scaled for a softmax of powers of two.
std::vector<float> query_factors(const TransformerShape& shape) {
  std::vector<float> factors(3 * static_cast<std::size_t>(shape.dim), 1.0f);
  const double scale = std::log2(std::exp(1.0)) / std::sqrt(shape.dim / shape.heads);
  std::fill_n(factors.begin(), shape.dim, static_cast<float>(scale));
  return factors;
}

struct Adapter {
  PanelLinear in, out;
};

struct Block {
  PanelLinear qkv, proj, up, down;
  std::optional<Adapter> adapter1, adapter2;
  std::vector<float> skip;  // what scales proj's outputs past adapter1; without it proj has them
};

std::vector<const PanelLinear*> layers_of(const Block& block) {
  std::vector<const PanelLinear*> layers{&block.qkv, &block.proj, &block.up, &block.down};
  for (const std::optional<Adapter>* adapter : {&block.adapter1, &block.adapter2}) {
    if (*adapter) layers.insert(layers.end(), {&(*adapter)->in, &(*adapter)->out});
  }
  return layers;
}

/// What transformers that differ in their last step share.
struct Body {
  PanelLinear embedding;
  std::vector<Block> blocks;
};

}  // namespace

/// Everything a number of tokens needs, for one caller at a time.
struct TransformerArena {
  int tokens = 0, threads = 0, panels = 0;
  AlignedBuffer<float> x, qkv, attended;
  AlignedBuffer<std::uint8_t> keys;               // int8: [head][panel][channel / 4][lane][4]
  AlignedBuffer<std::int16_t> values;             // int8: [head][panel][channel][lane]
  AlignedBuffer<float> key_scales, value_scales;  // int8: [head][token]
  struct Thread {
    AlignedBuffer<float> normalized, hidden, attention, adapted;
    LinearScratch linear;
  };
  std::vector<Thread> scratch;
};

struct Transformer::Impl {
  TransformerShape shape;
  Precision precision;
  const PanelKernels* kernels = panel_kernels().front();
  std::shared_ptr<Body> body = std::make_shared<Body>();
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

  /// Some panels of a picture and the thread that works on them.
  struct Work {
    TransformerArena& arena;
    TransformerArena::Thread& thread;
    int first, count;
    int last_tokens;
    Panels at(AlignedBuffer<float>& buffer, std::int64_t stride) const {
      return {buffer.data() + first * stride, stride};
    }
    void run(const PanelLinear& layer,
             Panels x,
             Panels y,
             bool accumulate,
             Activation activation = Activation::kNone) const {
      layer.run(x, y, count, last_tokens, accumulate, activation, thread.linear);
    }
  };
  template <typename Run>
  void each_group(TransformerArena& arena, Run run) const;

  void embed(Work work, const ReadPatches& patches) const;
  void normalize(Work work) const;
  void start_block(Work work, const Block& block) const;
  void quantize_heads(Work work) const;
  void attend(TransformerArena& arena) const;
  void add_attended(Work work, const Block& block) const;
  void finish_block(Work work, const Block& block) const;
  void write_out(Work work, const RowOf& row_of) const;
};

std::unique_ptr<TransformerArena> Transformer::Impl::make_arena(int tokens, int threads) const {
  auto arena = std::make_unique<TransformerArena>();
  arena->tokens = tokens;
  arena->threads = threads;
  arena->panels = (tokens + kernels->lanes - 1) / kernels->lanes;
  const std::size_t panel = width(shape.dim), panels = arena->panels;
  arena->x = AlignedBuffer<float>(panels * panel);
  const std::vector<Block>& blocks = body->blocks;
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
    thread.normalized = AlignedBuffer<float>(kMostPanels * panel);
    thread.hidden = AlignedBuffer<float>(kMostPanels * widest);
    thread.attention =
        AlignedBuffer<float>(kernels->attention_scratch + kMostQueryPanels * width(head() / 4));
    if (blocks.empty()) continue;
    for (const PanelLinear* layer : layers_of(blocks[0])) {
      layer->reserve(kMostPanels, thread.linear);
    }
    for (const std::optional<Adapter>* adapter : {&blocks[0].adapter1, &blocks[0].adapter2}) {
      if (*adapter) thread.adapted.reserve(kMostPanels * output_width((*adapter)->in));
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

/// Splits the panels into groups of nearly equal size, the same number for every thread. The result
/// does not depend on the split: every sum belongs to one token.
template <typename Run>
void Transformer::Impl::each_group(TransformerArena& arena, Run run) const {
  const int share = arena.threads * kMostPanels;
  const int groups = std::min(arena.panels, arena.threads * ((arena.panels + share - 1) / share));
#pragma omp parallel for schedule(dynamic, 1) num_threads(arena.threads)
  for (int g = 0; g < groups; ++g) {
    const int first = static_cast<int>(static_cast<std::int64_t>(arena.panels) * g / groups);
    const int end = static_cast<int>(static_cast<std::int64_t>(arena.panels) * (g + 1) / groups);
    const int last = std::min(kernels->lanes, arena.tokens - (end - 1) * kernels->lanes);
    run(Work{arena, arena.scratch[omp_get_thread_num()], first, end - first, last});
  }
}

void Transformer::Impl::embed(Work work, const ReadPatches& patches) const {
  const std::int64_t stride = width(body->embedding.inputs());
  for (int p = 0; p < work.count; ++p) {
    const int first = (work.first + p) * kernels->lanes;
    const int count = std::min(kernels->lanes, work.arena.tokens - first);
    patches(first, count, kernels->lanes, work.thread.hidden.data() + p * stride);
  }
  work.run(body->embedding,
           {work.thread.hidden.data(), stride},
           work.at(work.arena.x, width(shape.dim)),
           true);
}

void Transformer::Impl::normalize(Work work) const {
  const std::int64_t stride = width(shape.dim);
  const Panels x = work.at(work.arena.x, stride);
  for (int p = 0; p < work.count; ++p) {
    kernels->normalize(
        x.data + p * stride, shape.dim, shape.eps, work.thread.normalized.data() + p * stride);
  }
}

void Transformer::Impl::start_block(Work work, const Block& block) const {
  normalize(work);
  work.run(block.qkv,
           {work.thread.normalized.data(), width(shape.dim)},
           work.at(work.arena.qkv, width(3 * shape.dim)),
           false);
  if (integers()) quantize_heads(work);
}

void Transformer::Impl::quantize_heads(Work work) const {
  TransformerArena& arena = work.arena;
  for (int p = work.first; p < work.first + work.count; ++p) {
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
void Transformer::Impl::add_attended(Work work, const Block& block) const {
  const std::int64_t stride = width(shape.dim);
  const Panels x = work.at(work.arena.x, stride), attended = work.at(work.arena.attended, stride);
  if (!block.adapter1) return work.run(block.proj, attended, x, true);
  const Panels y{work.thread.normalized.data(), stride};  // free until the second norm
  const Panels adapted{work.thread.adapted.data(), output_width(block.adapter1->in)};
  work.run(block.proj, attended, y, false);
  for (int p = 0; p < work.count; ++p) {
    const float* from = y.data + p * stride;
    float* to = x.data + p * stride;
    for (int c = 0; c < shape.dim; ++c, from += kernels->lanes, to += kernels->lanes) {
      for (int t = 0; t < kernels->lanes; ++t) to[t] += block.skip[c] * from[t];
    }
  }
  work.run(block.adapter1->in, y, adapted, false, Activation::kRelu);
  work.run(block.adapter1->out, adapted, x, true);
}

void Transformer::Impl::finish_block(Work work, const Block& block) const {
  const std::int64_t stride = width(shape.dim), up_stride = output_width(block.up);
  const Panels x = work.at(work.arena.x, stride), normalized{work.thread.normalized.data(), stride};
  add_attended(work, block);
  normalize(work);
  Panels adapted;
  if (block.adapter2) {
    adapted = {work.thread.adapted.data(), output_width(block.adapter2->in)};
    work.run(block.adapter2->in, normalized, adapted, false, Activation::kRelu);
    if (integers()) normalize(work);  // int8 has emptied the outlying channels
  }
  const Panels hidden{work.thread.hidden.data(), up_stride};
  work.run(
      block.up, normalized, hidden, false, shape.gated ? Activation::kNone : Activation::kGelu);
  for (int p = 0; shape.gated && p < work.count; ++p) {
    float* gate = hidden.data + p * up_stride;
    kernels->gate(gate, gate + width(shape.hidden), shape.hidden, gate);
  }
  work.run(block.down, hidden, x, true);
  if (block.adapter2) work.run(block.adapter2->out, adapted, x, true);
}

void Transformer::Impl::write_out(Work work, const RowOf& row_of) const {
  const int channels = has_facet ? facet.outputs() : shape.dim;
  Panels from = work.at(work.arena.x, width(shape.dim));
  if (has_facet || !final_norm.weight.empty()) {
    normalize(work);
    from = {work.thread.normalized.data(), width(shape.dim)};
  }
  if (has_facet) {
    const Panels y{work.thread.hidden.data(), output_width(facet)};
    work.run(facet, from, y, false);
    from = y;
  }
  for (int p = 0; p < work.count; ++p) {
    const int first = (work.first + p) * kernels->lanes;
    const int count = std::min(kernels->lanes, work.arena.tokens - first);
    const float* panel = from.data + p * from.stride;
    for (int t = 0; t < count; ++t) {
      float* row = row_of(first + t);
      if (row == nullptr) continue;
      for (int c = 0; c < channels; ++c) row[c] = panel[c * kernels->lanes + t];
      for (std::size_t c = 0; c < final_norm.weight.size(); ++c) {
        row[c] = row[c] * final_norm.weight[c] + final_norm.bias[c];
      }
    }
  }
}

Transformer::Transformer(const TransformerShape& shape, Precision precision) : impl_(new Impl) {
  impl_->shape = shape;
  impl_->precision = precision;
}

Transformer::~Transformer() = default;

void Transformer::set_embedding(const LinearSource& embedding) {
  impl_->body->embedding = PanelLinear(*impl_->kernels, Precision::kFp32, embedding);
}

void Transformer::add_block(const BlockSource& block) {
  const auto pack = [&](const LinearSource& source) {
    return PanelLinear(*impl_->kernels, impl_->precision, source);
  };
  Block packed{pack(scaled(behind_norm(block.qkv, block.norm1), query_factors(impl_->shape))),
               pack(block.adapter1 ? block.proj : scaled(block.proj, block.scale1)),
               pack(behind_norm(block.up, block.norm2)),
               pack(scaled(block.down, block.scale2)),
               {},
               {},
               {}};
  const auto factors = [&](float factor, const std::vector<float>& scale) {
    std::vector<float> result(impl_->shape.dim, factor);
    for (std::size_t i = 0; i < scale.size(); ++i) result[i] *= scale[i];
    return result;
  };
  if (const auto& adapter = block.adapter1) {
    packed.skip = factors(1, block.scale1);
    packed.adapter1 = {pack(adapter->in),
                       pack(scaled(adapter->out, factors(adapter->factor, block.scale1)))};
  }
  if (const auto& adapter = block.adapter2) {
    packed.adapter2 = {pack(behind_norm(adapter->in, block.norm2)),
                       pack(scaled(adapter->out, factors(adapter->factor, block.scale2)))};
  }
  impl_->body->blocks.push_back(std::move(packed));
}

void Transformer::set_final_norm(const NormSource& norm) { impl_->final_norm = norm; }

Transformer::Transformer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<Transformer> Transformer::with_facet(const NormSource& norm,
                                                     const Matrix& weight,
                                                     const Vector& bias) const {
  auto impl = std::make_unique<Impl>();
  impl->shape = impl_->shape;
  impl->precision = impl_->precision;
  impl->body = impl_->body;
  const LinearSource layer{
      static_cast<int>(weight.rows()),
      static_cast<int>(weight.cols()),
      [&](int row, float* values) { std::copy_n(weight.row(row).data(), weight.cols(), values); },
      {bias.data(), bias.data() + bias.size()}};
  // Float32 in every precision: it is a small part of the work, and nothing behind it averages.
  impl->facet = PanelLinear(*impl->kernels, Precision::kFp32, behind_norm(layer, norm));
  impl->has_facet = true;
  return std::unique_ptr<Transformer>(new Transformer(std::move(impl)));
}

Matrix Transformer::run(const ReadPatches& patches, const Matrix& positions) const {
  Matrix out(positions.rows(), output_dim());
  run(patches, positions, [&](int token) { return out.row(token).data(); });
  return out;
}

void Transformer::run(const ReadPatches& patches,
                      const Matrix& positions,
                      const RowOf& row_of) const {
  const Impl& net = *impl_;
  const int tokens = static_cast<int>(positions.rows()), lanes = net.kernels->lanes;
  std::unique_ptr<TransformerArena> arena = net.take(tokens, omp_get_max_threads());
  net.each_group(*arena, [&](Impl::Work work) {
    for (int p = work.first; p < work.first + work.count; ++p) {
      float* panel = arena->x.data() + p * net.width(net.shape.dim);
      for (int t = 0; t < lanes; ++t) {
        const int token = p * lanes + t;
        for (int c = 0; c < net.shape.dim; ++c) {
          panel[c * lanes + t] = token < tokens ? positions(token, c) : 0.0f;
        }
      }
    }
    net.embed(work, patches);
    if (!net.body->blocks.empty()) net.start_block(work, net.body->blocks[0]);
    if (net.body->blocks.empty()) net.write_out(work, row_of);
  });
  for (std::size_t b = 0; b < net.body->blocks.size(); ++b) {
    net.attend(*arena);
    net.each_group(*arena, [&](Impl::Work work) {
      net.finish_block(work, net.body->blocks[b]);
      if (b + 1 < net.body->blocks.size()) {
        net.start_block(work, net.body->blocks[b + 1]);
      } else {
        net.write_out(work, row_of);
      }
    });
  }
  net.give_back(std::move(arena));
}

int Transformer::output_dim() const {
  return impl_->has_facet ? impl_->facet.outputs() : impl_->shape.dim;
}

double Transformer::flops(int tokens) const {
  const auto linear = [&](const PanelLinear& layer) {
    return 2.0 * tokens * layer.inputs() * layer.outputs();
  };
  double total = linear(impl_->body->embedding);
  for (const Block& block : impl_->body->blocks) {
    for (const PanelLinear* layer : layers_of(block)) total += linear(*layer);
    total += 4.0 * tokens * tokens * impl_->shape.dim;
  }
  return total + (impl_->has_facet ? linear(impl_->facet) : 0.0);
}

}  // namespace ria
