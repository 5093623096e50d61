// SPDX-License-Identifier: MIT
#include "nn/compiled_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace ria {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

int output_side(int side, int kernel, int stride, int pad) {
  return (side + 2 * pad - kernel) / stride + 1;
}

dnnl::primitive_attr attributes(bool sum, bool relu) {
  dnnl::post_ops ops;
  if (sum) ops.append_sum(1.0f);
  if (relu) ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::convolution_forward::primitive_desc describe(const Convolution& conv,
                                                   const memory::desc& source,
                                                   Type weight_type,
                                                   const memory::desc& target,
                                                   const dnnl::primitive_attr& attr) {
  const memory::desc kernel({conv.out, conv.in, conv.kernel, conv.kernel}, weight_type, Tag::any);
  const memory::desc bias({conv.out}, Type::f32, Tag::x);
  const memory::dims strides{conv.stride, conv.stride}, pads{conv.pad, conv.pad};
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                             dnnl::algorithm::convolution_direct,
                                             source,
                                             kernel,
                                             bias,
                                             target,
                                             strides,
                                             pads,
                                             pads);
  return {desc, attr, cpu_engine()};
}

}  // namespace

std::vector<TensorShape> infer_shapes(const std::vector<ConvStep>& steps, TensorShape input) {
  std::vector<TensorShape> shapes{input};
  for (const ConvStep& step : steps) {
    const TensorShape& in = shapes.at(step.input);
    const bool conv = step.kind == ConvStep::Kind::kConvolution;
    const int kernel = conv ? step.convolution.kernel : step.kernel;
    const int stride = conv ? step.convolution.stride : step.stride;
    const int pad = conv ? step.convolution.pad : step.pad;
    const TensorShape out{conv ? step.convolution.out : in.channels,
                          output_side(in.height, kernel, stride, pad),
                          output_side(in.width, kernel, stride, pad)};
    if (out.height < 1 || out.width < 1) {
      throw std::invalid_argument(fmt::format(
          "picture of {}x{} pixels is too small for the network", input.height, input.width));
    }
    shapes.push_back(out);
  }
  return shapes;
}

CompiledNet::CompiledNet(const std::vector<ConvStep>& steps,
                         const std::vector<int>& outputs,
                         TensorShape input,
                         PackedWeights& weights,
                         Precision precision)
    : steps_(steps),
      outputs_(outputs),
      shapes_(infer_shapes(steps, input)),
      int8_(precision == Precision::kInt8),
      type_(precision == Precision::kBf16 ? Type::bf16 : Type::f32),
      tensors_(shapes_.size()),
      last_use_(shapes_.size(), -1),
      unit_(shapes_.size(), 1.0f),
      peak_(shapes_.size(), -1.0f),
      levels_(shapes_.size()),
      tasks_(steps.size()),
      stream_(cpu_engine()) {
  find_lifetimes();
  tensors_[0] = memory({shapes_[0].dims(), Type::f32, Tag::nchw}, cpu_engine(), DNNL_MEMORY_NONE);
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    if (steps_[i].kind == ConvStep::Kind::kMaxPool) {
      compile_pool(i);
    } else if (runs_in_int8(i)) {
      compile_int8(i, weights);
    } else if (runs_in_winograd(i)) {
      compile_winograd(i, weights);
    } else {
      compile_convolution(i, weights);
    }
  }
  arena_.bind();
}

void CompiledNet::find_lifetimes() {
  for (int i = static_cast<int>(steps_.size()) - 1; i >= 0; --i) {
    const ConvStep& step = steps_[i];
    for (const int tensor : {step.input, step.residual}) {
      if (tensor >= 0) last_use_[tensor] = std::max(last_use_[tensor], i);
    }
    // Added in place, the tensor lives on under the name of the result.
    if (step.residual >= 0 && !int8_) {
      last_use_[step.residual] = std::max(last_use_[step.residual], last_use_[i + 1]);
    }
    if (runs_in_int8(i)) {
      Levels& levels = levels_[step.input];
      levels.born = i;
      levels.dies = std::max(levels.dies, i);
    }
  }
}

/// Levels start at 0, so what they stand for must not be negative: true of all that comes from a
/// ReLU. The picture itself does not.
bool CompiledNet::runs_in_int8(int i) const {
  if (!int8_ || steps_[i].kind != ConvStep::Kind::kConvolution) return false;
  int tensor = steps_[i].input;
  while (tensor > 0 && steps_[tensor - 1].kind == ConvStep::Kind::kMaxPool) {
    tensor = steps_[tensor - 1].input;
  }
  return tensor > 0 && steps_[tensor - 1].relu;
}

memory CompiledNet::add_tensor(int tensor, const memory::desc& desc) {
  tensors_[tensor] = memory(desc, cpu_engine(), DNNL_MEMORY_NONE);
  const int born = tensor - 1;
  arena_.add(tensors_[tensor], born, std::max(born, last_use_[tensor]));
  return tensors_[tensor];
}

void CompiledNet::add_task(int i, dnnl::primitive primitive, Arguments arguments) {
  tasks_[i].emplace_back([this, primitive, arguments = std::move(arguments)] {
    primitive.execute(stream_, arguments);
  });
}

void CompiledNet::compile_convolution(int i, PackedWeights& weights) {
  const ConvStep& step = steps_[i];
  const Convolution& conv = step.convolution;
  const bool in_place = step.residual >= 0 && !int8_;
  // The input of a first layer stays as it is; everything else in the layout the layer likes best.
  const bool as_it_is = step.input == 0 && type_ == Type::f32;
  const memory::desc source =
      as_it_is ? tensors_[0].get_desc() : memory::desc(shapes_[step.input].dims(), type_, Tag::any);
  const memory::desc target =
      in_place
          ? tensors_[step.residual].get_desc()
          : memory::desc(
                shapes_[i + 1].dims(), type_, int8_ && step.residual >= 0 ? Tag::nhwc : Tag::any);
  const auto pd = describe(conv,
                           source,
                           type_,
                           target,
                           attributes(in_place, step.relu && (step.residual < 0 || in_place)));
  const memory input = in_layout(i, step.input, pd.src_desc());
  // A residual is added in place: the result takes over its memory.
  const memory result =
      in_place ? tensors_[i + 1] = tensors_[step.residual] : add_tensor(i + 1, pd.dst_desc());
  const memory bias(
      {{conv.out}, Type::f32, Tag::x}, cpu_engine(), const_cast<float*>(conv.bias.data()));
  add_task(i,
           dnnl::convolution_forward(pd),
           {{DNNL_ARG_SRC, input},
            {DNNL_ARG_WEIGHTS, weights.get(i, conv, pd.weights_desc())},
            {DNNL_ARG_BIAS, bias},
            {DNNL_ARG_DST, result},
            {DNNL_ARG_SCRATCHPAD, scratchpad(pd.scratchpad_desc())}});
  if (int8_) add_finish(i);
}

/// result = weight scale (sum of levels + bias / (weight scale x activation scale)): the value in
/// units of the activation scale, which is known only when the picture is there.
void CompiledNet::compile_int8(int i, PackedWeights& weights) {
  const ConvStep& step = steps_[i];
  const Convolution& conv = step.convolution;
  const std::vector<float>& scales = weights.scales(i, conv);
  dnnl::primitive_attr attr = attributes(false, step.relu && step.residual < 0);
  attr.set_output_scales(1 << 1, scales);
  const auto pd = describe(conv,
                           {shapes_[step.input].dims(), Type::u8, Tag::nhwc},
                           Type::s8,
                           {shapes_[i + 1].dims(), Type::f32, Tag::nhwc},
                           attr);
  Levels& levels = levels_[step.input];
  if (levels.born == i) {
    levels.memory = memory(pd.src_desc(), cpu_engine(), DNNL_MEMORY_NONE);
    arena_.add(levels.memory, levels.born, levels.dies);
    const memory values = in_layout(i, step.input, plain_activations(step.input));
    tasks_[i].emplace_back(
        [this, tensor = step.input, values] { quantize_tensor(tensor, values); });
  }
  const memory bias({{conv.out}, Type::f32, Tag::x}, cpu_engine());
  tasks_[i].emplace_back([&conv, &scales, &levels, bias] {
    auto* values = static_cast<float*>(bias.get_data_handle());
    for (int o = 0; o < conv.out; ++o) values[o] = conv.bias[o] / (scales[o] * levels.scale);
  });
  add_task(i,
           dnnl::convolution_forward(pd),
           {{DNNL_ARG_SRC, levels.memory},
            {DNNL_ARG_WEIGHTS, weights.get_int8(i, conv, pd.weights_desc())},
            {DNNL_ARG_BIAS, bias},
            {DNNL_ARG_DST, add_tensor(i + 1, pd.dst_desc())},
            {DNNL_ARG_SCRATCHPAD, scratchpad(pd.scratchpad_desc())}});
  tasks_[i].emplace_back([this, i, &levels] { unit_[i + 1] = levels.scale; });
  add_finish(i);
}

void CompiledNet::compile_pool(int i) {
  const ConvStep& step = steps_[i];
  const memory::desc source = tensors_[step.input].get_desc();
  const memory::desc target(shapes_[i + 1].dims(), type_, Tag::any);
  const memory::dims strides{step.stride, step.stride}, kernel{step.kernel, step.kernel},
      pads{step.pad, step.pad};
  const dnnl::pooling_forward::desc desc(dnnl::prop_kind::forward_inference,
                                         dnnl::algorithm::pooling_max,
                                         source,
                                         target,
                                         strides,
                                         kernel,
                                         pads,
                                         pads);
  const dnnl::pooling_forward::primitive_desc pd(desc, attributes(false, false), cpu_engine());
  add_task(i,
           dnnl::pooling_forward(pd),
           {{DNNL_ARG_SRC, tensors_[step.input]},
            {DNNL_ARG_DST, add_tensor(i + 1, pd.dst_desc())},
            {DNNL_ARG_SCRATCHPAD, scratchpad(pd.scratchpad_desc())}});
  tasks_[i].emplace_back([this, i] {
    unit_[i + 1] = unit_[steps_[i].input];
    peak_[i + 1] = -1;
  });
}

/// The tensor in the wanted layout, through a reorder step if it has another.
memory CompiledNet::in_layout(int i, int tensor, const memory::desc& wanted) {
  if (tensors_[tensor].get_desc() == wanted) return tensors_[tensor];
  const memory reordered(wanted, cpu_engine(), DNNL_MEMORY_NONE);
  arena_.add(reordered, i, i);
  add_task(i,
           dnnl::reorder(tensors_[tensor], reordered),
           {{DNNL_ARG_FROM, tensors_[tensor]}, {DNNL_ARG_TO, reordered}});
  return reordered;
}

/// Layers run one after the other, so they share the largest scratchpad.
memory CompiledNet::scratchpad(const memory::desc& desc) {
  const memory scratch(desc, cpu_engine(), DNNL_MEMORY_NONE);
  arena_.add_scratch(scratch);
  return scratch;
}

/// The layout of int8 convolutions; those of fp32 have a faster one of their own.
memory::desc CompiledNet::plain_activations(int tensor) const {
  return {shapes_[tensor].dims(), Type::f32, Tag::nhwc};
}

void CompiledNet::quantize_tensor(int tensor, const memory& plain) {
  const auto* values = static_cast<const float*>(plain.get_data_handle());
  const std::size_t count = shapes_[tensor].size();
  float& peak = peak_[tensor];
  if (peak < 0) peak = largest(values, count);
  // What is this small is zero, and its reciprocal would overflow.
  constexpr float kTiny = 1e-30f;
  const bool zero = !(peak > kTiny);
  Levels& levels = levels_[tensor];
  levels.scale = zero ? 1.0f : unit_[tensor] * peak / kActivationLevels;
  quantize(values,
           count,
           zero ? 0.0f : kActivationLevels / peak,
           static_cast<std::uint8_t*>(levels.memory.get_data_handle()));
}

/// The residual, if there is one, in fp32; it also tells the largest value.
void CompiledNet::add_finish(int i) {
  const ConvStep& step = steps_[i];
  if (step.residual < 0) {
    tasks_[i].emplace_back([this, i] { peak_[i + 1] = -1; });
    return;
  }
  const memory residual = in_layout(i, step.residual, plain_activations(step.residual));
  tasks_[i].emplace_back([this, i, residual] {
    peak_[i + 1] = add_residual(static_cast<float*>(tensors_[i + 1].get_data_handle()),
                                static_cast<const float*>(residual.get_data_handle()),
                                shapes_[i + 1].size(),
                                unit_[i + 1],
                                unit_[steps_[i].residual],
                                steps_[i].relu);
    unit_[i + 1] = 1;
  });
}

void CompiledNet::copy_out(int tensor, const ConvNet::Room& room) {
  const TensorShape& shape = shapes_[tensor];
  float* values = room(shape.height, shape.width, shape.channels);
  memory target({shape.dims(), Type::f32, Tag::nhwc}, cpu_engine(), values);
  dnnl::reorder(tensors_[tensor], target).execute(stream_, tensors_[tensor], target);
  stream_.wait();
  if (unit_[tensor] != 1) {
    for (std::size_t i = 0; i < shape.size(); ++i) values[i] *= unit_[tensor];
  }
}

void CompiledNet::run(const Pixels& pixels, const ConvNet::Room& room) {
  tensors_[0].set_data_handle(const_cast<float*>(pixels.chw.data()));
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const Task& task : tasks_[i]) task();
    // Copied at once: a later step may add into this tensor in place.
    while (next < outputs_.size() && outputs_[next] == static_cast<int>(i) + 1) {
      copy_out(outputs_[next++], room);
    }
  }
  stream_.wait();
}

}  // namespace ria
