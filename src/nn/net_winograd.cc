// SPDX-License-Identifier: MIT
// The steps of a compiled network that Winograd's algorithm runs.
#include <omp.h>

#include "nn/compiled_net.h"

namespace ria {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

}  // namespace

/// The layouts that oneDNN chose for the layer are those of its neighbours.
bool CompiledNet::runs_in_winograd(int i,
                                   const memory::desc& source,
                                   const memory::desc& target) const {
  const auto holds_blocks = [](const memory::desc& desc) {
    return desc == memory::desc(desc.dims(), Type::f32, Tag::nChw8c) ||
           desc == memory::desc(desc.dims(), Type::f32, Tag::nhwc);
  };
  return !int8_ && WinogradWeights::fits(steps_[i].convolution) && holds_blocks(source) &&
         holds_blocks(target);
}

void CompiledNet::compile_winograd(int i, memory input, memory result, PackedWeights& weights) {
  const ConvStep& step = steps_[i];
  const auto layout = [](const TensorShape& shape, const memory& tensor) -> WinogradLayout {
    const memory::desc desc = tensor.get_desc();
    if (desc == memory::desc(desc.dims(), Type::f32, Tag::nhwc)) {
      return {shape.channels, kWinogradBlock};
    }
    return {kWinogradBlock, static_cast<std::int64_t>(shape.height) * shape.width * kWinogradBlock};
  };
  const TensorShape& shape = shapes_[step.input];
  const WinogradLayer layer(weights.winograd(i, step.convolution),
                            shape.height,
                            shape.width,
                            layout(shape, input),
                            layout(shapes_[i + 1], result),
                            omp_get_max_threads());
  const memory scratch =
      scratchpad({{static_cast<memory::dim>(layer.scratch_size())}, Type::u8, Tag::x});
  tasks_[i].emplace_back([layer, input, result, scratch, &step] {
    layer.run(static_cast<const float*>(input.get_data_handle()),
              static_cast<float*>(result.get_data_handle()),
              step.residual >= 0,
              step.relu,
              static_cast<float*>(scratch.get_data_handle()));
  });
}

}  // namespace ria
