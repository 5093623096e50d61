// SPDX-License-Identifier: MIT
#include "nn/transformer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nn/transformer_impl.h"

namespace ria {

namespace {

/// Queries come out scaled for a softmax of powers of two.
std::vector<float> query_factors(const TransformerShape& shape) {
  std::vector<float> factors(3 * static_cast<std::size_t>(shape.dim), 1.0f);
  const double scale = std::log2(std::exp(1.0)) / std::sqrt(shape.dim / shape.heads);
  std::fill_n(factors.begin(), shape.dim, static_cast<float>(scale));
  return factors;
}

}  // namespace

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
  TransformerBlock packed{
      pack(scaled(behind_norm(block.qkv, block.norm1), query_factors(impl_->shape))),
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
                       pack(scaled(adapter->out, factors(adapter->factor, block.scale1))),
                       nullptr};
  }
  if (const auto& adapter = block.adapter2) {
    packed.adapter2 = {pack(behind_norm(adapter->in, block.norm2)),
                       pack(scaled(adapter->out, factors(adapter->factor, block.scale2))),
                       nullptr};
    if (!adapter->grid.empty()) {
      packed.adapter2->grid = std::make_shared<ConvNet>(
          adapter->grid, adapter->grid_outputs, Precision::kFp32, adapter->in.outputs);
    }
  }
  impl_->body->blocks.push_back(std::move(packed));
}

void Transformer::add_side(const AdapterSource& adapter) {
  // Float32 in every precision: it is next to nothing.
  const auto pack = [&](const LinearSource& source) {
    return PanelLinear(*impl_->kernels, Precision::kFp32, source);
  };
  const std::vector<float> factors(impl_->shape.dim, adapter.factor);
  impl_->body->side.push_back({pack(adapter.in), pack(scaled(adapter.out, factors)), nullptr});
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
      weight.rows(),
      weight.cols(),
      [&](int row, float* values) { std::ranges::copy(weight.row(row), values); },
      bias};
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
                      const RowOf& row_of,
                      const PatchGrid& grid) const {
  const Impl& net = *impl_;
  const std::vector<TransformerBlock>& blocks = net.body->blocks;
  const int tokens = positions.rows(), lanes = net.kernels->lanes;
  std::unique_ptr<TransformerArena> arena = net.take(tokens, omp_get_max_threads());
  net.each_group(*arena, [&](Impl::Work work) {
    for (int i = 0; i < work.which.panels; ++i) {
      const int p = work.first + i;
      float* panel = arena->x.data() + p * net.width(net.shape.dim);
      // The last token's group also has the lanes behind it, and no other group: it may end in the
      // same panel, while this one is at work there.
      const int own = work.which.end_of(i, lanes);
      const int end = p * lanes + own == tokens ? lanes : own;
      for (int t = work.which.first_of(i); t < end; ++t) {
        const int token = p * lanes + t;
        for (int c = 0; c < net.shape.dim; ++c) {
          panel[c * lanes + t] = token < tokens ? positions(token, c) : 0.0f;
        }
      }
    }
    net.embed(work, patches);
    if (net.beside()) net.start_side(work);
    if (!blocks.empty()) net.start_block(work, blocks[0]);
    if (blocks.empty()) net.write_out(work, row_of);
  });
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto go_on = [&](Impl::Work work) {
      if (net.beside()) net.follow_side(work, net.body->side[b]);
      b + 1 < blocks.size() ? net.start_block(work, blocks[b + 1]) : net.write_out(work, row_of);
    };
    const bool whole_grid = blocks[b].adapter2 && blocks[b].adapter2->grid;
    net.attend(*arena);
    net.each_group(*arena, [&](Impl::Work work) {
      net.finish_block(work, blocks[b]);
      if (!whole_grid) go_on(work);
    });
    if (!whole_grid) continue;
    net.add_grid(*arena, *blocks[b].adapter2, grid);
    net.each_group(*arena, [&](Impl::Work work) {
      net.leave_adapter(work, *blocks[b].adapter2);
      go_on(work);
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
  for (const TransformerBlock& block : impl_->body->blocks) {
    for (const PanelLinear* layer : block.layers()) total += linear(*layer);
    total += 4.0 * tokens * tokens * impl_->shape.dim;
    // A grid's convolutions cost the same whatever its shape, but for its border.
    if (block.adapter2 && block.adapter2->grid) total += block.adapter2->grid->flops(1, tokens);
  }
  for (const TransformerAdapter& side : impl_->body->side) {
    total += linear(side.in) + linear(side.out);
  }
  return total + (impl_->has_facet ? linear(impl_->facet) : 0.0);
}

}  // namespace ria
