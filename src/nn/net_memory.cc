// SPDX-License-Identifier: MIT
// Where a compiled network keeps its weights and activations.
#include <algorithm>

#include "nn/compiled_net.h"
#include "nn/one_thread.h"

namespace ria {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

memory::desc plain_kernel(const Convolution& conv, Type type) {
  return {{conv.out, conv.in, conv.kernel, conv.kernel}, type, Tag::oihw};
}

}  // namespace

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory PackedWeights::pack(int step,
                           const memory::desc& plain,
                           const void* values,
                           const memory::desc& wanted) {
  for (const memory& known : packed_[step]) {
    if (known.get_desc() == wanted) return known;
  }
  memory source(plain, cpu_engine(), const_cast<void*>(values));
  memory target(wanted, cpu_engine());
  // Layers are compiled between one layout and the next: threads that were woken for a layout
  // would only wait, and waiting costs them as much as work.
  const OneThread one;
  dnnl::stream stream(cpu_engine());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  packed_[step].push_back(target);
  return target;
}

memory PackedWeights::get(int step, const Convolution& conv, const memory::desc& wanted) {
  const std::lock_guard lock(mutex_);
  return pack(step, plain_kernel(conv, Type::f32), conv.weight.data(), wanted);
}

memory PackedWeights::get_int8(int step, const Convolution& conv, const memory::desc& wanted) {
  const std::lock_guard lock(mutex_);
  return pack(step, plain_kernel(conv, Type::s8), int8(step, conv).levels.data(), wanted);
}

const std::vector<float>& PackedWeights::scales(int step, const Convolution& conv) {
  const std::lock_guard lock(mutex_);
  return int8(step, conv).scales;
}

const Int8Weights& PackedWeights::int8(int step, const Convolution& conv) {
  const auto it = int8_.find(step);
  if (it != int8_.end()) return it->second;
  return int8_[step] = quantize_weights(conv.weight, conv.out);
}

const WinogradWeights& PackedWeights::winograd(int step,
                                               const Convolution& conv,
                                               const WinogradKernels& transforms) {
  const std::lock_guard lock(mutex_);
  return winograd_.try_emplace({step, &transforms}, conv, *panel_kernels().front(), transforms)
      .first->second;
}

void Arena::add(const memory& memory, int born, int dies) {
  tenants_.push_back({memory, born, dies});
}

void Arena::add_scratch(const memory& memory) { scratch_.push_back(memory); }

void Arena::bind() {
  constexpr std::size_t kAlign = 64;
  struct Block {
    std::size_t begin, end;
    int dies;
  };
  std::stable_sort(
      tenants_.begin(), tenants_.end(), [](auto& a, auto& b) { return a.born < b.born; });
  std::vector<Block> blocks;
  std::vector<std::size_t> offsets;
  std::size_t size = 0, scratch_size = 0;
  for (const Tenant& tenant : tenants_) {
    std::erase_if(blocks, [&](const Block& block) { return block.dies < tenant.born; });
    std::sort(blocks.begin(), blocks.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    const std::size_t bytes = (tenant.memory.get_desc().get_size() + kAlign - 1) / kAlign * kAlign;
    std::size_t offset = 0;
    for (const Block& block : blocks) {
      if (offset + bytes <= block.begin) break;
      offset = block.end;
    }
    blocks.push_back({offset, offset + bytes, tenant.dies});
    offsets.push_back(offset);
    size = std::max(size, offset + bytes);
  }
  for (const memory& scratch : scratch_) {
    scratch_size = std::max(scratch_size, scratch.get_desc().get_size());
  }
  bytes_ = AlignedBuffer<std::uint8_t>(size + scratch_size);
  std::uint8_t* base = bytes_.data();
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    tenants_[i].memory.set_data_handle(base + offsets[i]);
  }
  for (memory& scratch : scratch_) scratch.set_data_handle(base + size);
}

}  // namespace ria
