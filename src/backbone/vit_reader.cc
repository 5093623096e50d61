// SPDX-License-Identifier: MIT
#include "backbone/vit_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "archive/bytes.h"
#include "backbone/conv_backbone.h"

namespace ria {

namespace {

constexpr float kParallelAdapter = 0.2f;  // SelaVPR's and CricaVPR's share beside the MLP
constexpr float kSideAdapter = 0.5f;      // EDTformer's
constexpr double kBranchEps = 1e-3;       // of the batch norms of CricaVPR's branches

}  // namespace

void VitReader::release(const std::string& prefix) const {
  for (auto it = names_.lower_bound(prefix); it != names_.end() && it->first.starts_with(prefix);
       ++it) {
    file_.at(it->second).release();
  }
}

const Tensor& VitReader::tensor(const std::string& name, std::int64_t expected) const {
  const auto it = names_.find(name);
  if (it == names_.end()) throw read_error(file_.path(), name + " is missing");
  const Tensor& found = file_.at(it->second);
  if (found.size() != expected) {
    throw read_error(
        file_.path(),
        fmt::format("{} has {} values, {} were expected", it->second, found.size(), expected));
  }
  return found;
}

std::vector<float> VitReader::values(const std::string& name, std::int64_t expected) const {
  return tensor(name, expected).floats();
}

NormSource VitReader::norm(const std::string& name, int dim) const {
  return {values(name + ".weight", dim), values(name + ".bias", dim)};
}

LinearSource VitReader::linear(const std::string& name, int outputs, int inputs) const {
  LinearSource source{outputs, inputs, rows(name + ".weight", outputs, inputs), {}};
  source.bias = has(name + ".bias") ? values(name + ".bias", outputs)
                                    : std::vector<float>(static_cast<std::size_t>(outputs));
  return source;
}

/// An adapter and nothing else by that name: one of another kind would be half read.
AdapterSource VitReader::adapter(const std::string& name, int dim, int width, bool branches) const {
  AdapterSource source;
  source.in = linear(name + ".D_fc1", width, dim);
  source.out = linear(name + ".D_fc2", dim, width);
  source.in.bias = values(name + ".D_fc1.bias", width);
  source.out.bias = values(name + ".D_fc2.bias", dim);
  for (auto it = names_.lower_bound(name + "."); it != names_.end(); ++it) {
    if (!it->first.starts_with(name + ".")) break;
    if (it->first.starts_with(name + ".D_fc1.") || it->first.starts_with(name + ".D_fc2.")) {
      continue;
    }
    if (branches && it->first.starts_with(name + ".branch")) continue;
    throw read_error(file_.path(), it->second + " belongs to an adapter of an unknown kind");
  }
  return source;
}

/// 1x1 | 1x1 and 3x3 | 1x1 and 5x5, every convolution with batch norm and ReLU.
void VitReader::read_branches(const std::string& name, AdapterSource& adapter) const {
  ConvBuilder net(file_, names_, kBranchEps);
  const auto add = [&](const std::string& layer, int input, int kernel) {
    const std::string place = name + "." + layer;
    Convolution conv = net.read(place + ".conv", place + ".bn", 1, kernel / 2);
    const int inputs = input == 0 ? adapter.in.outputs : net.steps().at(input - 1).convolution.out;
    if (conv.kernel != kernel || conv.in != inputs) {
      throw read_error(file_.path(),
                       fmt::format("{}.conv.weight is a {}x{} kernel of {} channels, {}x{} of {} "
                                   "was expected",
                                   place,
                                   conv.kernel,
                                   conv.kernel,
                                   conv.in,
                                   kernel,
                                   kernel,
                                   inputs));
    }
    net.add(std::move(conv), input, -1, true);
    return net.last();
  };
  adapter.grid_outputs = {add("branch1", 0, 1)};
  adapter.grid_outputs.push_back(add("branch2.1", add("branch2.0", 0, 1), 3));
  adapter.grid_outputs.push_back(add("branch3.1", add("branch3.0", 0, 1), 5));
  int channels = 0;
  for (const int tensor : adapter.grid_outputs) {
    channels += net.steps().at(tensor - 1).convolution.out;
  }
  if (channels != adapter.in.outputs) {
    throw read_error(file_.path(),
                     fmt::format("the branches of {} have {} channels together, {} were expected",
                                 name,
                                 channels,
                                 adapter.in.outputs));
  }
  adapter.grid = std::move(net.steps());
}

LinearSource VitReader::qkv(const std::string& attention, int dim) const {
  if (has(attention + ".qkv.weight")) return linear(attention + ".qkv", 3 * dim, dim);
  std::vector<LinearSource> parts;
  LinearSource all{3 * dim, dim, {}, {}};
  for (const char* part : {".q", ".k", ".v"}) {
    parts.push_back(linear(attention + part, dim, dim));
    all.bias.insert(all.bias.end(), parts.back().bias.begin(), parts.back().bias.end());
  }
  all.read = [parts, dim](int row, float* values) { parts[row / dim].read(row % dim, values); };
  return all;
}

std::function<void(int, float*)> VitReader::rows(const std::string& name,
                                                 int outputs,
                                                 int inputs) const {
  const Tensor& found = tensor(name, static_cast<std::int64_t>(outputs) * inputs);
  if (found.shape.front() != outputs) {  // as many values, but transposed
    throw read_error(
        file_.path(),
        fmt::format(
            "{} has {} rows, {} were expected", names_.at(name), found.shape.front(), outputs));
  }
  if (found.dtype == DType::F32) {
    return [found, inputs](int row, float* values) {
      const std::size_t bytes = inputs * sizeof(float);
      std::memcpy(values, found.bytes.data() + row * bytes, bytes);
    };
  }
  const auto all = std::make_shared<const std::vector<float>>(found.floats());
  return [all, inputs](int row, float* values) {
    std::copy_n(all->begin() + static_cast<std::ptrdiff_t>(row) * inputs, inputs, values);
  };
}

BlockSource VitReader::block(const VitShape& shape, int number) const {
  const std::string name = fmt::format("blocks.{}.", number);
  const int dim = shape.dim;
  BlockSource source;
  source.norm1 = norm(name + "norm1", dim);
  source.norm2 = norm(name + "norm2", dim);
  if (shape.layer_scale) {
    source.scale1 = values(name + "ls1.gamma", dim);
    source.scale2 = values(name + "ls2.gamma", dim);
  }
  source.qkv = qkv(name + "attn", dim);
  source.proj = linear(name + "attn.proj", dim, dim);
  source.up = shape.gated ? linear(name + "mlp.w12", 2 * shape.hidden, dim)
                          : linear(name + "mlp.fc1", shape.hidden, dim);
  source.down = linear(name + (shape.gated ? "mlp.w3" : "mlp.fc2"), dim, shape.hidden);
  if (shape.adapters == VitAdapters::kSerial) {
    source.adapter1 = adapter(name + "adapter1", dim, shape.adapter, false);
    source.adapter2 = adapter(name + "adapter2", dim, shape.adapter, false);
  } else if (shape.adapters == VitAdapters::kMultiScale) {
    source.adapter2 = adapter(name + "adapter", dim, shape.adapter, true);
    read_branches(name + "adapter", *source.adapter2);
  }
  if (source.adapter2) source.adapter2->factor = kParallelAdapter;
  return source;
}

AdapterSource VitReader::side(const VitShape& shape, int number) const {
  AdapterSource source =
      adapter(fmt::format("adapters.{}", number), shape.dim, shape.adapter, false);
  source.factor = kSideAdapter;
  return source;
}

}  // namespace ria
