// SPDX-License-Identifier: MIT
#include "nn/conv_net.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <deque>
#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace ria {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Size of a tensor without its batch of one.
struct Shape {
  int channels = 0, height = 0, width = 0;
  memory::dims dims() const { return {1, channels, height, width}; }
};

int output_side(int side, int kernel, int stride, int pad) {
  return (side + 2 * pad - kernel) / stride + 1;
}

std::vector<Shape> infer_shapes(const std::vector<ConvStep>& steps, Shape input) {
  std::vector<Shape> shapes{input};
  for (const ConvStep& step : steps) {
    const Shape& in = shapes.at(step.input);
    const bool conv = step.kind == ConvStep::Kind::kConvolution;
    const int kernel = conv ? step.convolution.kernel : step.kernel;
    const int stride = conv ? step.convolution.stride : step.stride;
    const int pad = conv ? step.convolution.pad : step.pad;
    const Shape out{conv ? step.convolution.out : in.channels,
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

/// Weights reordered to the layout a compiled layer asked for; shared by all sizes and threads.
class WeightStore {
 public:
  memory weight(int step, const Convolution& conv, const memory::desc& wanted) {
    const std::lock_guard lock(mutex_);
    for (const memory& known : packed_[step]) {
      if (known.get_desc() == wanted) return known;
    }
    const memory::desc plain(
        {conv.out, conv.in, conv.kernel, conv.kernel}, memory::data_type::f32, Tag::oihw);
    memory source(plain, cpu(), const_cast<float*>(conv.weight.data()));
    memory target(wanted, cpu());
    dnnl::stream stream(cpu());
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
    packed_[step].push_back(target);
    return target;
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<memory>> packed_;
};

/// A compiled layer and the memory it touches.
struct Layer {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

/// Everything one input size needs, for one caller at a time.
class Plan {
 public:
  Plan(const std::vector<ConvStep>& steps,
       const std::vector<int>& outputs,
       Shape input,
       WeightStore& weights)
      : steps_(steps),
        outputs_(outputs),
        shapes_(infer_shapes(steps, input)),
        tensors_(shapes_.size()) {
    last_use_.assign(shapes_.size(), -1);
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      last_use_[steps[i].input] = i;
      if (steps[i].residual >= 0) last_use_[steps[i].residual] = i;
    }
    const memory::desc plain(shapes_[0].dims(), memory::data_type::f32, Tag::nchw);
    tensors_[0] = memory(plain, cpu(), DNNL_MEMORY_NONE);
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) compile(i, weights);
    bind_arena();
  }

  std::vector<FeatureMap> run(const Pixels& pixels) {
    tensors_[0].set_data_handle(const_cast<float*>(pixels.chw.data()));
    std::vector<FeatureMap> results;
    std::size_t next = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (Layer& layer : layers_[i]) layer.primitive.execute(stream_, layer.arguments);
      // Copied at once: a later step may add into this tensor in place.
      while (next < outputs_.size() && outputs_[next] == static_cast<int>(i) + 1) {
        results.push_back(copy_out(outputs_[next++]));
      }
    }
    stream_.wait();
    return results;
  }

 private:
  void compile(int i, WeightStore& weights) {
    layers_.emplace_back();
    if (steps_[i].kind == ConvStep::Kind::kMaxPool) {
      compile_pool(i);
    } else {
      compile_convolution(i, weights);
    }
  }

  dnnl::primitive_attr attributes(const ConvStep& step) const {
    dnnl::post_ops ops;
    if (step.residual >= 0) ops.append_sum(1.0f);
    if (step.relu) ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    dnnl::primitive_attr attr;
    attr.set_post_ops(ops);
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attr;
  }

  void compile_convolution(int i, WeightStore& weights) {
    const ConvStep& step = steps_[i];
    const Convolution& conv = step.convolution;
    const auto f32 = memory::data_type::f32;
    // The input of a first layer stays as it is; everything else in the layout the layer likes
    // best.
    const memory::desc source = step.input == 0
                                    ? tensors_[0].get_desc()
                                    : memory::desc(shapes_[step.input].dims(), f32, Tag::any);
    const memory::desc kernel({conv.out, conv.in, conv.kernel, conv.kernel}, f32, Tag::any);
    const memory::desc bias({conv.out}, f32, Tag::x);
    const memory::desc target = step.residual >= 0
                                    ? tensors_[step.residual].get_desc()
                                    : memory::desc(shapes_[i + 1].dims(), f32, Tag::any);
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
    const dnnl::convolution_forward::primitive_desc pd(desc, attributes(step), cpu());
    const memory input = in_layout(i, step.input, pd.src_desc());
    // A residual is added in place: the result takes over its memory.
    tensors_[i + 1] = step.residual >= 0 ? tensors_[step.residual]
                                         : memory(pd.dst_desc(), cpu(), DNNL_MEMORY_NONE);
    memory bias_memory(bias, cpu(), const_cast<float*>(conv.bias.data()));
    layers_[i].push_back({dnnl::convolution_forward(pd),
                          {{DNNL_ARG_SRC, input},
                           {DNNL_ARG_WEIGHTS, weights.weight(i, conv, pd.weights_desc())},
                           {DNNL_ARG_BIAS, bias_memory},
                           {DNNL_ARG_DST, tensors_[i + 1]},
                           {DNNL_ARG_SCRATCHPAD, scratchpad(pd.scratchpad_desc())}}});
  }

  void compile_pool(int i) {
    const ConvStep& step = steps_[i];
    const memory::desc source = tensors_[step.input].get_desc();
    const memory::desc target(shapes_[i + 1].dims(), memory::data_type::f32, Tag::any);
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
    const dnnl::pooling_forward::primitive_desc pd(desc, attributes(step), cpu());
    tensors_[i + 1] = memory(pd.dst_desc(), cpu(), DNNL_MEMORY_NONE);
    layers_[i].push_back({dnnl::pooling_forward(pd),
                          {{DNNL_ARG_SRC, tensors_[step.input]},
                           {DNNL_ARG_DST, tensors_[i + 1]},
                           {DNNL_ARG_SCRATCHPAD, scratchpad(pd.scratchpad_desc())}}});
  }

  /// The tensor in the wanted layout, through a reorder step if it has another.
  memory in_layout(int i, int tensor, const memory::desc& wanted) {
    if (tensors_[tensor].get_desc() == wanted) return tensors_[tensor];
    memory reordered(wanted, cpu());
    owned_.push_back(reordered);
    layers_[i].push_back(reorder_layer(tensors_[tensor], reordered));
    return reordered;
  }

  static Layer reorder_layer(const memory& from, const memory& to) {
    return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
  }

  /// Layers run one after the other, so they share the largest scratchpad.
  memory scratchpad(const memory::desc& desc) {
    scratch_bytes_ = std::max(scratch_bytes_, desc.get_size());
    scratchpads_.push_back(memory(desc, cpu(), DNNL_MEMORY_NONE));
    return scratchpads_.back();
  }

  /// Places every tensor in one arena, first fit, reusing room whose tensor is no longer read.
  void bind_arena() {
    struct Block {
      std::size_t begin, end;
      int dies;
    };
    std::vector<Block> blocks;
    std::map<int, std::size_t> offsets;
    std::size_t arena_size = 0;
    for (int t = 1; t < static_cast<int>(tensors_.size()); ++t) {
      const int residual = steps_[t - 1].residual;
      if (residual > 0) {  // in place: the block lives on under the new name
        offsets[t] = offsets[residual];
        for (Block& block : blocks) {
          if (block.begin == offsets[t]) block.dies = std::max(block.dies, last_use_[t]);
        }
        continue;
      }
      const int born = t - 1;
      std::erase_if(blocks, [&](const Block& block) { return block.dies < born; });
      std::sort(blocks.begin(), blocks.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
      const std::size_t size = (tensors_[t].get_desc().get_size() + 63) / 64 * 64;
      std::size_t offset = 0;
      for (const Block& block : blocks) {
        if (offset + size <= block.begin) break;
        offset = block.end;
      }
      blocks.push_back({offset, offset + size, std::max(born, last_use_[t])});
      offsets[t] = offset;
      arena_size = std::max(arena_size, offset + size);
    }
    arena_.resize((arena_size + 64 + scratch_bytes_ + 64) / sizeof(float));
    char* base =
        reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(arena_.data()) + 63) / 64 * 64);
    for (const auto& [t, offset] : offsets) tensors_[t].set_data_handle(base + offset);
    for (memory& scratch : scratchpads_) scratch.set_data_handle(base + arena_size);
  }

  FeatureMap copy_out(int tensor) {
    const Shape& shape = shapes_[tensor];
    FeatureMap map{shape.height, shape.width, shape.channels, {}};
    map.hwc.resize(static_cast<std::size_t>(shape.height) * shape.width * shape.channels);
    memory target({shape.dims(), memory::data_type::f32, Tag::nhwc}, cpu(), map.hwc.data());
    dnnl::reorder(tensors_[tensor], target).execute(stream_, tensors_[tensor], target);
    stream_.wait();
    return map;
  }

  const std::vector<ConvStep>& steps_;
  const std::vector<int>& outputs_;
  std::vector<Shape> shapes_;
  std::vector<memory> tensors_;
  std::vector<int> last_use_;
  std::vector<std::vector<Layer>> layers_;
  std::vector<memory> owned_;
  std::deque<memory> scratchpads_;
  std::size_t scratch_bytes_ = 0;
  std::vector<float> arena_;
  dnnl::stream stream_{cpu()};
};

}  // namespace

struct ConvNet::Impl {
  std::vector<ConvStep> steps;
  std::vector<int> outputs;
  int input_channels;
  mutable WeightStore weights;

  // Idle plans, by (height, width, threads): layers are compiled for a number of threads.
  using Key = std::array<int, 3>;
  static constexpr std::size_t kMaxIdle = 16;
  mutable std::mutex mutex;
  mutable std::deque<std::pair<Key, std::unique_ptr<Plan>>> idle;

  std::unique_ptr<Plan> take(const Key& key) const {
    {
      const std::lock_guard lock(mutex);
      const auto it =
          std::find_if(idle.rbegin(), idle.rend(), [&](auto& entry) { return entry.first == key; });
      if (it != idle.rend()) {
        std::unique_ptr<Plan> plan = std::move(it->second);
        idle.erase(std::next(it).base());
        return plan;
      }
    }
    return std::make_unique<Plan>(steps, outputs, Shape{input_channels, key[0], key[1]}, weights);
  }

  void give_back(const Key& key, std::unique_ptr<Plan> plan) const {
    const std::lock_guard lock(mutex);
    idle.emplace_back(key, std::move(plan));
    if (idle.size() > kMaxIdle) idle.pop_front();
  }
};

ConvNet::ConvNet(std::vector<ConvStep> steps, std::vector<int> outputs, int input_channels)
    : impl_(new Impl{std::move(steps), std::move(outputs), input_channels, {}, {}, {}}) {}

ConvNet::~ConvNet() = default;

std::vector<FeatureMap> ConvNet::run(const Pixels& pixels) const {
  const Impl::Key key{pixels.height, pixels.width, omp_get_max_threads()};
  std::unique_ptr<Plan> plan = impl_->take(key);
  std::vector<FeatureMap> results = plan->run(pixels);
  impl_->give_back(key, std::move(plan));
  return results;
}

double ConvNet::flops(int height, int width) const {
  const std::vector<Shape> shapes =
      infer_shapes(impl_->steps, {impl_->input_channels, height, width});
  double total = 0;
  for (std::size_t i = 0; i < impl_->steps.size(); ++i) {
    const Convolution& conv = impl_->steps[i].convolution;
    if (impl_->steps[i].kind != ConvStep::Kind::kConvolution) continue;
    total += 2.0 * conv.in * conv.out * conv.kernel * conv.kernel * shapes[i + 1].height *
             shapes[i + 1].width;
  }
  return total;
}

int ConvNet::channels(int tensor) const {
  return infer_shapes(impl_->steps, {impl_->input_channels, 512, 512}).at(tensor).channels;
}

}  // namespace ria
