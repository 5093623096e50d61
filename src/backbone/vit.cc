// SPDX-License-Identifier: MIT
#include "backbone/vit.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>

#include "backbone/position.h"
#include "weights/bytes.h"

namespace ria {

namespace {

using Names = std::map<std::string, std::string>;

/// Tensors of one network by their published names, each checked for its size.
class Reader {
 public:
  Reader(const TensorFile& file, const Names& names) : file_(file), names_(names) {}

  bool has(const std::string& name) const { return names_.count(name) != 0; }

  void release(const std::string& prefix) const {
    for (auto it = names_.lower_bound(prefix); it != names_.end() && it->first.starts_with(prefix);
         ++it) {
      file_.at(it->second).release();
    }
  }

  const Tensor& tensor(const std::string& name, std::int64_t expected) const {
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

  std::vector<float> values(const std::string& name, std::int64_t expected) const {
    return tensor(name, expected).floats();
  }

  NormSource norm(const std::string& name, int dim) const {
    return {values(name + ".weight", dim), values(name + ".bias", dim)};
  }

  LinearSource linear(const std::string& name, int outputs, int inputs) const {
    LinearSource source{outputs, inputs, rows(name + ".weight", outputs, inputs), {}};
    source.bias = has(name + ".bias") ? values(name + ".bias", outputs)
                                      : std::vector<float>(static_cast<std::size_t>(outputs));
    return source;
  }

  /// An adapter and nothing else by that name: one of another kind would be half read.
  AdapterSource adapter(const std::string& name, int dim, int width) const {
    AdapterSource source{linear(name + ".D_fc1", width, dim), linear(name + ".D_fc2", dim, width)};
    source.in.bias = values(name + ".D_fc1.bias", width);
    source.out.bias = values(name + ".D_fc2.bias", dim);
    for (auto it = names_.lower_bound(name + "."); it != names_.end(); ++it) {
      if (!it->first.starts_with(name + ".")) break;
      if (it->first.starts_with(name + ".D_fc1.") || it->first.starts_with(name + ".D_fc2.")) {
        continue;
      }
      throw read_error(file_.path(), it->second + " belongs to an adapter of an unknown kind");
    }
    return source;
  }

  /// Queries, keys and values as one layer, however the file keeps them.
  LinearSource qkv(const std::string& attention, int dim) const {
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

 private:
  std::function<void(int, float*)> rows(const std::string& name, int outputs, int inputs) const {
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

  const TensorFile& file_;
  const Names& names_;
};

constexpr float kParallelAdapter = 0.2f;  // SelaVPR's share of the adapter beside the MLP

BlockSource read_block(const Reader& reader, const VitShape& shape, int block) {
  const std::string name = fmt::format("blocks.{}.", block);
  const int dim = shape.dim;
  BlockSource source;
  source.norm1 = reader.norm(name + "norm1", dim);
  source.norm2 = reader.norm(name + "norm2", dim);
  if (shape.layer_scale) {
    source.scale1 = reader.values(name + "ls1.gamma", dim);
    source.scale2 = reader.values(name + "ls2.gamma", dim);
  }
  source.qkv = reader.qkv(name + "attn", dim);
  source.proj = reader.linear(name + "attn.proj", dim, dim);
  source.up = shape.gated ? reader.linear(name + "mlp.w12", 2 * shape.hidden, dim)
                          : reader.linear(name + "mlp.fc1", shape.hidden, dim);
  source.down = reader.linear(name + (shape.gated ? "mlp.w3" : "mlp.fc2"), dim, shape.hidden);
  if (shape.adapter > 0) {
    source.adapter1 = reader.adapter(name + "adapter1", dim, shape.adapter);
    source.adapter2 = reader.adapter(name + "adapter2", dim, shape.adapter);
    source.adapter2->factor = kParallelAdapter;
  }
  return source;
}

Matrix matrix_of(const std::vector<float>& values, int columns) {
  return Eigen::Map<const Matrix>(
      values.data(), static_cast<Eigen::Index>(values.size()) / columns, columns);
}

}  // namespace

struct Vit::StartCache {
  struct Entry {
    int height, width;
    std::shared_ptr<const Matrix> start;
  };
  std::mutex mutex;
  std::deque<Entry> entries;
};

Vit::Vit(const TensorFile& file, const VitOutput& output, Precision precision)
    : output_(output), starts_(std::make_shared<StartCache>()) {
  load(file, precision);
}

void Vit::load(const TensorFile& file, Precision precision) {
  const Names names = canonical_vit_names(file);
  if (names.empty()) throw read_error(file.path(), "it holds no vision transformer");
  shape_ = vit_shape(file, names);
  if (output_.stride == 0) output_.stride = shape_.patch;
  const Reader reader(file, names);
  const int dim = shape_.dim, pixels = 3 * shape_.patch * shape_.patch;

  auto transformer = std::make_shared<Transformer>(
      TransformerShape{dim, shape_.heads, shape_.hidden, shape_.gated, 1e-6f}, precision);
  LinearSource embedding = reader.linear("patch_embed.proj", dim, pixels);
  patch_bias_ = Eigen::Map<const Vector>(embedding.bias.data(), dim);
  embedding.bias.assign(dim, 0.0f);  // it is part of start()
  transformer->set_embedding(embedding);
  for (int block = 0; block < output_.blocks; ++block) {
    transformer->add_block(read_block(reader, shape_, block));
    reader.release(fmt::format("blocks.{}.", block));  // packed: the file's pages may go
  }
  table_ = matrix_of(reader.values("pos_embed", (1LL + shape_.grid * shape_.grid) * dim), dim);
  leading_ = Matrix(1 + shape_.registers, dim);
  leading_.row(0) = matrix_of(reader.values("cls_token", dim), dim);
  if (shape_.registers > 0) {
    leading_.bottomRows(shape_.registers) =
        matrix_of(reader.values("register_tokens", 1LL * shape_.registers * dim), dim);
  }
  if (output_.final_norm) transformer->set_final_norm(reader.norm("norm", dim));
  transformer_ = std::move(transformer);
  if (output_.facet != Facet::kToken) load_facet(file, names);
}

void Vit::load_facet(const TensorFile& file, const Names& names) {
  const Reader reader(file, names);
  const int dim = shape_.dim, part = static_cast<int>(output_.facet) - 1;  // query, key, value
  const std::string name = fmt::format("blocks.{}.", output_.blocks);
  facet_norm_ = reader.norm(name + "norm1", dim);
  const LinearSource qkv = reader.qkv(name + "attn", dim);
  facet_weight_ = Matrix(dim, dim);
  facet_bias_ = Vector(dim);
  for (int row = 0; row < dim; ++row) {
    // The extractor used with DINO interleaves the heads of a facet: channel d of head h is
    // d * heads + h.
    const int to = shape_.layer_scale ? row : row % 64 * shape_.heads + row / 64;
    qkv.read(part * dim + row, facet_weight_.row(to).data());
    facet_bias_[to] = qkv.bias[part * dim + row];
  }
  transformer_ = transformer_->with_facet(facet_norm_, facet_weight_, facet_bias_);
}

std::unique_ptr<Vit> Vit::folded(const Matrix& projection) const {
  if (facet_weight_.size() == 0) return nullptr;
  if (projection.rows() != facet_weight_.rows()) {
    throw std::invalid_argument(fmt::format("projection has {} rows, the features have {} columns",
                                            projection.rows(),
                                            facet_weight_.rows()));
  }
  std::unique_ptr<Vit> other(new Vit(*this));
  other->facet_weight_ = projection.transpose() * facet_weight_;
  other->facet_bias_ = projection.transpose() * facet_bias_;
  other->transformer_ =
      transformer_->with_facet(facet_norm_, other->facet_weight_, other->facet_bias_);
  return other;
}

Matrix Vit::positions(int height, int width) const {
  return resize_positions(table_, shape_.grid, height, width, output_.position_rule);
}

std::shared_ptr<const Matrix> Vit::start(int height, int width) const {
  constexpr std::size_t kMostGrids = 8;
  const std::lock_guard lock(starts_->mutex);
  for (const StartCache::Entry& entry : starts_->entries) {
    if (entry.height == height && entry.width == width) return entry.start;
  }
  const Matrix position = positions(height, width);
  auto start = std::make_shared<Matrix>(position.rows() + shape_.registers, shape_.dim);
  start->topRows(leading_.rows()) = leading_;
  start->row(0) += position.row(0);  // registers have no position
  start->bottomRows(position.rows() - 1) =
      position.bottomRows(position.rows() - 1).rowwise() + patch_bias_.transpose();
  starts_->entries.push_front({height, width, start});
  if (starts_->entries.size() > kMostGrids) starts_->entries.pop_back();
  return start;
}

/// Pixels of the patches of some tokens as columns; tokens that are no patch get zeros.
void Vit::read_patches(const Pixels& pixels, int first, int count, int lanes, float* panel) const {
  const int patch = shape_.patch, columns = grid(pixels.width);
  std::memset(panel, 0, sizeof(float) * 3 * patch * patch * lanes);
  for (int t = 0; t < count; ++t) {
    const int index = first + t - static_cast<int>(leading_.rows());
    if (index < 0) continue;
    const int top = index / columns * output_.stride, left = index % columns * output_.stride;
    float* to = panel + t;
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < patch; ++y) {
        const float* from = pixels.chw.data() +
                            (static_cast<std::size_t>(c) * pixels.height + top + y) * pixels.width +
                            left;
        for (int x = 0; x < patch; ++x, to += lanes) *to = from[x];
      }
    }
  }
}

void Vit::check_size(const Pixels& pixels) const {
  if (pixels.height < shape_.patch || pixels.width < shape_.patch) {
    throw std::invalid_argument(fmt::format("picture of {}x{} pixels is smaller than a patch of {}",
                                            pixels.height,
                                            pixels.width,
                                            shape_.patch));
  }
}

void Vit::run(const Pixels& pixels, const Transformer::RowOf& row_of) const {
  const auto read = [&](int first, int count, int lanes, float* panel) {
    read_patches(pixels, first, count, lanes, panel);
  };
  transformer_->run(read, *start(grid(pixels.height), grid(pixels.width)), row_of);
}

Matrix Vit::tokens(const Pixels& pixels) const {
  check_size(pixels);
  Matrix out(leading_.rows() + grid(pixels.height) * grid(pixels.width), dim());
  run(pixels, [&](int token) { return out.row(token).data(); });
  return out;
}

PatchFeatures Vit::features(const Pixels& pixels) const {
  check_size(pixels);
  PatchFeatures features;
  features.grid_height = grid(pixels.height);
  features.grid_width = grid(pixels.width);
  features.patches.resize(features.grid_height * features.grid_width, dim());
  features.class_token.resize(dim());
  run(pixels, [&](int token) {
    if (token == 0) return features.class_token.data();
    const auto patch = token - leading_.rows();
    return patch < 0 ? nullptr : features.patches.row(patch).data();
  });
  return features;
}

namespace {

class VitBackbone final : public Backbone {
 public:
  VitBackbone(std::string name, std::string sha256, std::shared_ptr<const Vit> vit)
      : name_(std::move(name)), sha256_(std::move(sha256)), vit_(std::move(vit)) {}

  std::string name() const override { return name_; }
  int dim() const override { return vit_->dim(); }
  std::string weights_sha256() const override { return sha256_; }

  Preprocessing preprocessing() const override {
    const bool own_stride = vit_->output().stride == vit_->shape().patch;
    Preprocessing result;
    result.normalization = Normalization::kImagenet;
    result.longest_side = vit_->shape().layer_scale ? 640 : 320;
    result.multiple = own_stride ? vit_->shape().patch : vit_->output().stride;
    result.min_side = 2 * vit_->shape().patch;
    return result;
  }

  PatchFeatures extract(const Pixels& pixels) const override { return vit_->features(pixels); }

  double flops(int height, int width) const override {
    return vit_->flops(1 + vit_->shape().registers + vit_->grid(height) * vit_->grid(width));
  }

  std::unique_ptr<Backbone> folded(const Matrix& projection) const override {
    std::unique_ptr<Vit> vit = vit_->folded(projection);
    if (!vit) return nullptr;
    return std::make_unique<VitBackbone>(name_, sha256_, std::move(vit));
  }

 private:
  std::string name_;
  std::string sha256_;
  std::shared_ptr<const Vit> vit_;
};

/// AnyLoc takes block 31 of ViT-g's 40; other depths the same share of the way. For DINO it is the
/// tenth of twelve.
int default_layer(const VitShape& shape) {
  return shape.depth * 4 / 5 - (shape.depth == 12 ? 0 : 1);
}

VitOutput resolve(const VitShape& shape, const BackboneOptions& options) {
  VitOutput output;
  output.facet = options.facet.value_or(options.final_norm  ? Facet::kToken
                                        : shape.layer_scale ? Facet::kValue
                                                            : Facet::kKey);
  const int layer =
      options.layer.value_or(options.final_norm ? shape.depth - 1 : default_layer(shape));
  if (layer < 0 || layer >= shape.depth) {
    throw std::invalid_argument(
        fmt::format("layer is {}, 0 to {} was expected", layer, shape.depth - 1));
  }
  if (options.final_norm && output.facet != Facet::kToken) {
    throw std::invalid_argument("final_norm goes with facet token only");
  }
  if (options.stride > shape.patch) {
    throw std::invalid_argument(fmt::format(
        "stride is {}, at most the patch size {} was expected", options.stride, shape.patch));
  }
  output.blocks = output.facet == Facet::kToken ? layer + 1 : layer;
  output.final_norm = options.final_norm;
  // SelaVPR's networks keep the rule of networks without registers.
  const bool reg = shape.registers > 0 && shape.adapter == 0;
  output.position_rule =
      options.position_rule.value_or(reg ? PositionRule::kReg : PositionRule::kHub);
  output.stride = options.stride;
  return output;
}

}  // namespace

std::unique_ptr<Backbone> make_vit(const BackboneWeights& weights, const BackboneOptions& options) {
  const Names names = canonical_vit_names(weights.file);
  if (names.empty()) throw read_error(weights.file.path(), "it holds no vision transformer");
  const VitOutput output = resolve(vit_shape(weights.file, names), options);
  return std::make_unique<VitBackbone>(
      weights.name,
      weights.sha256,
      std::make_shared<const Vit>(weights.file, output, options.precision));
}

}  // namespace ria
