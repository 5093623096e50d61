// SPDX-License-Identifier: MIT
// The steps of a network compiled for one input size and number of threads.
#pragma once

#include <cstdint>
#include <deque>
#include <dnnl.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "nn/conv_int8.h"
#include "nn/conv_net.h"
#include "nn/winograd.h"
#include "util/aligned.h"

namespace ria {

/// Size of a tensor without its batch of one.
struct TensorShape {
  int channels = 0, height = 0, width = 0;
  dnnl::memory::dims dims() const { return {1, channels, height, width}; }
  std::size_t size() const { return static_cast<std::size_t>(channels) * height * width; }
};

/// Of the input and of what every step writes; throws std::invalid_argument if a side vanishes.
std::vector<TensorShape> infer_shapes(const std::vector<ConvStep>& steps, TensorShape input);

/// The one engine of all layers.
const dnnl::engine& cpu_engine();

/// Weights in the layouts that compiled layers asked for; shared by all sizes and threads.
class PackedWeights {
 public:
  dnnl::memory get(int step, const Convolution& conv, const dnnl::memory::desc& wanted);
  /// The same as 8-bit levels.
  dnnl::memory get_int8(int step, const Convolution& conv, const dnnl::memory::desc& wanted);
  /// Scale of the 8-bit levels of every output channel.
  const std::vector<float>& scales(int step, const Convolution& conv);
  /// Transformed for a convolution by Winograd's algorithm with tiles of this size.
  const WinogradWeights& winograd(int step,
                                  const Convolution& conv,
                                  const WinogradKernels& transforms);

 private:
  const Int8Weights& int8(int step, const Convolution& conv);
  dnnl::memory pack(int step,
                    const dnnl::memory::desc& plain,
                    const void* values,
                    const dnnl::memory::desc& wanted);

  std::mutex mutex_;
  std::map<int, std::vector<dnnl::memory>> packed_;
  std::map<int, Int8Weights> int8_;
  std::map<std::pair<int, const WinogradKernels*>, WinogradWeights> winograd_;
};

/// One block of memory in which tensors share the room of those no longer read.
class Arena {
 public:
  /// Room for the memory from step `born` to step `dies`.
  void add(const dnnl::memory& memory, int born, int dies);
  /// Room for the memory during every step: the largest such is shared by all.
  void add_scratch(const dnnl::memory& memory);
  /// Gives every memory its place, first fit.
  void bind();

 private:
  struct Tenant {
    dnnl::memory memory;
    int born, dies;
  };
  std::vector<Tenant> tenants_;
  std::vector<dnnl::memory> scratch_;
  AlignedBuffer<std::uint8_t> bytes_;
};

/// Everything one input size needs, for one caller at a time.
class CompiledNet {
 public:
  CompiledNet(const std::vector<ConvStep>& steps,
              const std::vector<int>& outputs,
              TensorShape input,
              PackedWeights& weights,
              Precision precision);
  CompiledNet(const CompiledNet&) = delete;
  CompiledNet& operator=(const CompiledNet&) = delete;

  void run(const Pixels& pixels, const ConvNet::Room& room);

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;
  using Task = std::function<void()>;

  /// A tensor as 8-bit levels: value = scale * level.
  struct Levels {
    dnnl::memory memory;
    float scale = 1;
    int born = -1;  ///< first step that reads it
    int dies = -1;  ///< last one
  };

  void find_lifetimes();
  bool runs_in_int8(int i) const;
  void compile_convolution(int i, PackedWeights& weights);
  bool runs_in_winograd(int i) const;
  void compile_winograd(int i, PackedWeights& weights);
  void compile_int8(int i, PackedWeights& weights);
  void compile_pool(int i);
  dnnl::memory add_tensor(int tensor, const dnnl::memory::desc& desc);
  void add_task(int i, dnnl::primitive primitive, Arguments arguments);
  dnnl::memory in_layout(int i, int tensor, const dnnl::memory::desc& wanted);
  dnnl::memory scratchpad(const dnnl::memory::desc& desc);
  dnnl::memory::desc plain_activations(int tensor) const;
  void quantize_tensor(int tensor, const dnnl::memory& plain);
  void add_finish(int i);
  void copy_out(int tensor, const ConvNet::Room& room);

  const std::vector<ConvStep>& steps_;
  const std::vector<int>& outputs_;
  std::vector<TensorShape> shapes_;
  bool int8_;
  dnnl::memory::data_type type_;
  std::vector<dnnl::memory> tensors_;
  std::vector<int> last_use_;
  // With int8, a tensor's value is its unit times what is stored: the scale of the activations a
  // convolution read reaches its result without another pass.
  std::vector<float> unit_;
  std::vector<float> peak_;  // largest stored value; negative: not yet known
  std::vector<Levels> levels_;
  std::vector<std::vector<Task>> tasks_;
  Arena arena_;
  dnnl::stream stream_;
};

}  // namespace ria
