// SPDX-License-Identifier: MIT
// The steps of a compiled network that Winograd's algorithm runs.
#include <omp.h>

#include "nn/compiled_net.h"

namespace ria {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

memory::desc layout(const memory::dims& dims, int together) {
  if (together == dims[1]) return {dims, Type::f32, Tag::nhwc};
  return {dims, Type::f32, together == 16 ? Tag::nChw16c : Tag::nChw8c};
}

/// Channels that lie together where the kernels can read and write them, 0 in another layout.
/// Blocks must be whole: oneDNN wants zeros in what is left of the last.
int channels_together(const memory::desc& desc) {
  const int channels = static_cast<int>(desc.dims()[1]);
  for (const int together : {channels, 16, 8}) {
    if (together % panel_kernels().front()->width == 0 && channels % together == 0 &&
        desc == layout(desc.dims(), together)) {
      return together;
    }
  }
  return 0;
}

WinogradTensor describe(const memory& tensor) {
  const memory::desc desc = tensor.get_desc();
  return {
      static_cast<int>(desc.dims()[2]), static_cast<int>(desc.dims()[3]), channels_together(desc)};
}

}  // namespace

bool CompiledNet::runs_in_winograd(int i) const {
  const ConvStep& step = steps_[i];
  const TensorShape& shape = shapes_[i + 1];
  return !int8_ && type_ == Type::f32 &&
         choose_winograd(step.convolution, shape.height, shape.width) != nullptr &&
         (step.residual < 0 || channels_together(tensors_[step.residual].get_desc()) > 0);
}

/// The input in the layout that it has, if the kernels can read it; the result likewise.
void CompiledNet::compile_winograd(int i, PackedWeights& weights) {
  const ConvStep& step = steps_[i];
  const Convolution& conv = step.convolution;
  const memory::desc held = tensors_[step.input].get_desc();
  const int width = panel_kernels().front()->width;
  const int together = channels_together(held) > 0 ? channels_together(held) : width;
  const memory input = in_layout(i, step.input, layout(held.dims(), together));
  const bool last = together == conv.in;
  const int out_together = last ? conv.out : conv.out % together == 0 ? together : width;
  const memory result = step.residual >= 0
                            ? tensors_[i + 1] = tensors_[step.residual]
                            : add_tensor(i + 1, layout(shapes_[i + 1].dims(), out_together));
  const WinogradKernels& transforms =
      *choose_winograd(conv, shapes_[i + 1].height, shapes_[i + 1].width);
  const WinogradLayer layer(weights.winograd(i, conv, transforms),
                            describe(input),
                            describe(result),
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
