// SPDX-License-Identifier: MIT
// What stands beside a transformer's blocks: adapters that see the grid of the patches, and a path
// of its own.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "nn/transformer_impl.h"

namespace ria {

void Transformer::Impl::add_grid(TransformerArena& arena,
                                 const TransformerAdapter& adapter,
                                 const PatchGrid& grid) const {
  const int channels = adapter.in.outputs(), lanes = kernels->lanes;
  const int patches = grid.height * grid.width, leading = arena.tokens - patches;
  if (patches < 1 || leading < 0) {
    throw std::invalid_argument(fmt::format(
        "{} tokens hold no grid of {}x{} patches", arena.tokens, grid.height, grid.width));
  }
  const std::int64_t stride = output_width(adapter.in);
  const auto at = [&](int token, int channel) -> float& {
    return arena.between.data()[token / lanes * stride +
                                static_cast<std::int64_t>(channel) * lanes + token % lanes];
  };
  Pixels& map = arena.map;
  map.height = grid.height;
  map.width = grid.width;
  map.chw.resize(static_cast<std::size_t>(channels) * patches);
  for (int c = 0; c < channels; ++c) {
    float* to = map.chw.data() + static_cast<std::size_t>(c) * patches;
    for (int i = 0; i < patches; ++i) to[i] = at(leading + i, c);
    for (int t = 0; t < leading; ++t) at(t, c) *= 2;  // as published: y itself stands for its grid
  }
  int first = 0;
  for (const FeatureMap& part : adapter.grid->run(map)) {
    for (int i = 0; i < patches; ++i) {
      const float* row = part.hwc.data() + static_cast<std::size_t>(i) * part.channels;
      for (int c = 0; c < part.channels; ++c) at(leading + i, first + c) += row[c];
    }
    first += part.channels;
  }
}

void Transformer::Impl::leave_adapter(Work work, const TransformerAdapter& adapter) const {
  work.run(adapter.out,
           work.at(work.arena.between, output_width(adapter.in)),
           work.at(work.arena.x, width(shape.dim)),
           true);
}

void Transformer::Impl::start_side(Work work) const {
  const std::int64_t stride = width(shape.dim);
  std::copy_n(work.at(work.arena.x, stride).data,
              work.which.panels * stride,
              work.at(work.arena.side, stride).data);
}

void Transformer::Impl::follow_side(Work work, const TransformerAdapter& adapter) const {
  const std::int64_t stride = width(shape.dim);
  const Panels x = work.at(work.arena.x, stride), y = work.at(work.arena.side, stride);
  for (std::int64_t i = 0; i < work.which.panels * stride; ++i) y.data[i] += x.data[i];
  const Panels adapted{work.thread.adapted.data(), output_width(adapter.in)};
  work.run(adapter.in, y, adapted, false, Activation::kGelu);
  work.run(adapter.out, adapted, y, true);
}

}  // namespace ria
