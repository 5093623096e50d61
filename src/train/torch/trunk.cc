// SPDX-License-Identifier: MIT
#include "train/torch/trunk.h"

#include <fmt/format.h>

#include "train/torch/attention.h"

namespace ria {

namespace {

/// The values of a batch as they lie; the batch must stay.
Tensor input_of(const TrainBatch& batch,
                const std::vector<std::int64_t>& shape,
                const at::Device& device) {
  std::int64_t count = 1;
  for (const std::int64_t side : shape) count *= side;
  if (count == 0 || count != static_cast<std::int64_t>(batch.values.size())) {
    throw std::invalid_argument(
        fmt::format("a batch of {} pictures holds {} values, {} were expected",
                    batch.count,
                    batch.values.size(),
                    count));
  }
  return at::from_blob(const_cast<float*>(batch.values.data()), shape, at::kFloat).to(device);
}

/// The steps of ConvTrunk from the entry on. Batch norms are part of the weights, so that nothing
/// depends on what else is in a batch.
class ConvNetwork final : public Trunk {
 public:
  ConvNetwork(const NetworkShape& shape, const Tensors& tensors)
      : steps_(shape.conv.steps), entry_(shape.entry), last_use_(steps_.size() + 1, -1) {
    if (entry_ < 0 || entry_ > static_cast<int>(steps_.size())) {
      throw std::invalid_argument(
          fmt::format("entry is {}, 0 to {} was expected", entry_, steps_.size()));
    }
    for (int i = entry_; i < static_cast<int>(steps_.size()); ++i) {
      const ConvLayer& step = steps_[i];
      for (const int read : {step.input, step.residual}) {
        if (read < 0) continue;
        if (read < entry_ || read > i) {
          throw std::invalid_argument(
              fmt::format("step {} reads tensor {}, which is not between the entry {} and itself",
                          i,
                          read,
                          entry_));
        }
        last_use_[read] = i;
      }
      weights_.emplace_back();
      if (step.name.empty()) continue;
      weights_.back() = {tensor_at(tensors, step.name + ".weight"),
                         tensor_at(tensors, step.name + ".bias")};
    }
  }

  Tensor features(const TrainBatch& batch, const at::Device& device) const override {
    std::vector<Tensor> values(steps_.size() + 1);
    // Channels last in both: what enters behind the picture comes so, and oneDNN likes it.
    values[entry_] =
        entry_ == 0
            ? input_of(batch, {batch.count, 3, batch.height, batch.width}, device)
                  .contiguous(at::MemoryFormat::ChannelsLast)
            : input_of(batch, {batch.count, batch.height, batch.width, batch.channels}, device)
                  .permute({0, 3, 1, 2});
    for (int i = entry_; i < static_cast<int>(steps_.size()); ++i) {
      values[i + 1] = run(i, values);
      for (const int read : {steps_[i].input, steps_[i].residual}) {
        if (read >= 0 && last_use_[read] == i) values[read].reset();
      }
    }
    return values.back().permute({0, 2, 3, 1}).flatten(1, 2);
  }

 private:
  struct Weights {
    Tensor weight, bias;
  };

  Tensor run(int i, const std::vector<Tensor>& values) const {
    const ConvLayer& step = steps_[i];
    const Tensor& x = values[step.input];
    const std::vector<std::int64_t> stride{step.stride, step.stride}, pad{step.pad, step.pad};
    if (step.name.empty()) return at::max_pool2d(x, {step.kernel, step.kernel}, stride, pad);
    const Weights& weights = weights_[i - entry_];
    Tensor y = at::conv2d(x, weights.weight, weights.bias, stride, pad);
    if (step.residual >= 0) y = y + values[step.residual];
    return step.relu ? at::relu(y) : y;
  }

  std::vector<ConvLayer> steps_;
  int entry_;
  std::vector<int> last_use_;
  std::vector<Weights> weights_;  ///< of the steps from the entry on
};

struct Linear {
  Tensor weight, bias;
  Tensor operator()(const Tensor& x) const { return at::linear(x, weight, bias); }
};

struct Norm {
  Tensor weight, bias;
  double eps = 1e-6;
  Tensor operator()(const Tensor& x) const {
    return at::layer_norm(x, {x.size(-1)}, weight, bias, eps);
  }
};

struct Block {
  Norm norm1, norm2;
  Linear qkv, proj, up, down;
  Tensor scale1, scale2;  ///< LayerScale; undefined: none
};

/// Layers by their published names.
class Layers {
 public:
  Layers(const Tensors& tensors, const VitTrunk& vit) : tensors_(tensors), vit_(vit) {}

  Linear linear(const std::string& name) const {
    const auto bias = tensors_.find("backbone." + name + ".bias");
    return {tensor_at(tensors_, "backbone." + name + ".weight"),
            bias == tensors_.end() ? Tensor() : bias->second};
  }
  Norm norm(const std::string& name) const {
    return {tensor_at(tensors_, "backbone." + name + ".weight"),
            tensor_at(tensors_, "backbone." + name + ".bias"),
            vit_.eps};
  }
  Block block(int number) const {
    const std::string name = fmt::format("blocks.{}.", number);
    Block out;
    out.norm1 = norm(name + "norm1");
    out.norm2 = norm(name + "norm2");
    out.qkv = linear(name + "attn.qkv");
    out.proj = linear(name + "attn.proj");
    out.up = linear(name + (vit_.gated ? "mlp.w12" : "mlp.fc1"));
    out.down = linear(name + (vit_.gated ? "mlp.w3" : "mlp.fc2"));
    if (vit_.layer_scale) {
      out.scale1 = tensor_at(tensors_, "backbone." + name + "ls1.gamma");
      out.scale2 = tensor_at(tensors_, "backbone." + name + "ls2.gamma");
    }
    return out;
  }

 private:
  const Tensors& tensors_;
  const VitTrunk& vit_;
};

class VisionTransformer final : public Trunk {
 public:
  VisionTransformer(const NetworkShape& shape, const Tensors& tensors)
      : vit_(shape.vit), entry_(shape.entry) {
    if (entry_ < 0 || entry_ > vit_.blocks + 1) {
      throw std::invalid_argument(
          fmt::format("entry is {}, 0 to {} was expected", entry_, vit_.blocks + 1));
    }
    const Layers layers(tensors, vit_);
    if (entry_ == 0) embedding_ = tensor_at(tensors, "backbone.patch_embed.proj.weight");
    for (int b = std::max(entry_ - 1, 0); b < vit_.blocks; ++b) blocks_.push_back(layers.block(b));
    if (vit_.facet != Facet::kToken) {
      facet_norm_ = layers.norm(fmt::format("blocks.{}.norm1", vit_.blocks));
      facet_ = layers.linear(fmt::format("blocks.{}.attn.qkv", vit_.blocks));
    } else if (vit_.final_norm) {
      facet_norm_ = layers.norm("norm");
    }
  }

  Tensor features(const TrainBatch& batch, const at::Device& device) const override {
    Tensor x = entry_ == 0 ? embed(batch, device) : tokens_of(batch, device);
    for (const Block& block : blocks_) x = run(block, x);
    x = x.slice(1, 1 + vit_.registers);
    return vit_.facet == Facet::kToken ? (vit_.final_norm ? facet_norm_(x) : x) : facet_of(x);
  }

 private:
  Tensor tokens_of(const TrainBatch& batch, const at::Device& device) const {
    const std::int64_t tokens = 1 + vit_.registers + std::int64_t{batch.height} * batch.width;
    return input_of(batch, {batch.count, tokens, vit_.dim}, device);
  }

  /// Pixels of the patches, added to what tokens start from without them.
  Tensor embed(const TrainBatch& batch, const at::Device& device) const {
    const Tensor pixels = input_of(batch, {batch.count, 3, batch.height, batch.width}, device);
    const Tensor patches =
        at::conv2d(pixels, embedding_, {}, {vit_.stride, vit_.stride}).flatten(2).transpose(1, 2);
    const std::int64_t leading = 1 + vit_.registers;
    if (batch.positions.rows() != leading + patches.size(1) || batch.positions.cols() != vit_.dim) {
      throw std::invalid_argument(fmt::format("positions are {} x {}, {} x {} was expected",
                                              batch.positions.rows(),
                                              batch.positions.cols(),
                                              leading + patches.size(1),
                                              vit_.dim));
    }
    Tensor x = at::from_blob(const_cast<float*>(batch.positions.data()),
                             {1, batch.positions.rows(), vit_.dim},
                             at::kFloat)
                   .to(device)
                   .repeat({batch.count, 1, 1});
    x.slice(1, leading).add_(patches);
    return x;
  }

  Tensor run(const Block& block, const Tensor& x) const {
    Tensor y = block.proj(attention(block.qkv(block.norm1(x)), vit_.heads));
    if (block.scale1.defined()) y = y * block.scale1;
    const Tensor middle = x + y;
    Tensor up = block.up(block.norm2(middle));
    if (vit_.gated) {
      const auto halves = up.chunk(2, -1);
      up = at::silu(halves[0]) * halves[1];
    } else {
      up = at::gelu(up);
    }
    y = block.down(up);
    if (block.scale2.defined()) y = y * block.scale2;
    return middle + y;
  }

  /// Of the block behind the last: only the part of its projections that is asked for.
  Tensor facet_of(const Tensor& x) const {
    const int part = static_cast<int>(vit_.facet) - 1;  // query, key, value
    const auto rows = [&](const Tensor& t) {
      return t.slice(0, part * vit_.dim, (part + 1) * vit_.dim);
    };
    Tensor y = at::linear(
        facet_norm_(x), rows(facet_.weight), facet_.bias.defined() ? rows(facet_.bias) : Tensor());
    if (!vit_.interleaved) return y;
    return y.view({y.size(0), y.size(1), vit_.heads, vit_.dim / vit_.heads})
        .transpose(2, 3)
        .flatten(2);
  }

  VitTrunk vit_;
  int entry_;
  Tensor embedding_;
  std::vector<Block> blocks_;
  Norm facet_norm_;  ///< in front of the facet, or the final one
  Linear facet_;
};

}  // namespace

std::unique_ptr<Trunk> make_trunk(const NetworkShape& shape, const Tensors& tensors) {
  if (!shape.conv.steps.empty()) return std::make_unique<ConvNetwork>(shape, tensors);
  if (shape.vit.dim < 1 || shape.vit.heads < 1 || shape.vit.dim % shape.vit.heads != 0) {
    throw std::invalid_argument(fmt::format(
        "a transformer of {} channels in {} heads is none", shape.vit.dim, shape.vit.heads));
  }
  return std::make_unique<VisionTransformer>(shape, tensors);
}

}  // namespace ria
