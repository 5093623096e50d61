// SPDX-License-Identifier: MIT
#include "backbone/vit.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>

#include "archive/bytes.h"
#include "backbone/position.h"
#include "backbone/vit_reader.h"
#include "ria/eigen.h"

namespace ria {

namespace {

using Names = std::map<std::string, std::string>;

Matrix matrix_of(std::vector<float> values, int columns) {
  const int rows = static_cast<int>(values.size()) / columns;
  return {rows, columns, std::move(values)};
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
  const VitReader reader(file, names);
  const int dim = shape_.dim, pixels = 3 * shape_.patch * shape_.patch;

  auto transformer = std::make_shared<Transformer>(
      TransformerShape{dim, shape_.heads, shape_.hidden, shape_.gated, 1e-6f}, precision);
  LinearSource embedding = reader.linear("patch_embed.proj", dim, pixels);
  patch_bias_ = embedding.bias;
  embedding.bias.assign(dim, 0.0f);  // it is part of start()
  transformer->set_embedding(embedding);
  for (int block = 0; block < output_.blocks; ++block) {
    transformer->add_block(reader.block(shape_, block));
    if (shape_.adapters == VitAdapters::kSide) transformer->add_side(reader.side(shape_, block));
    reader.release(fmt::format("blocks.{}.", block));  // packed: the file's pages may go
  }
  table_ = matrix_of(reader.values("pos_embed", (1LL + shape_.grid * shape_.grid) * dim), dim);
  std::vector<float> leading = reader.values("cls_token", dim);
  if (shape_.registers > 0) {
    const auto registers = reader.values("register_tokens", 1LL * shape_.registers * dim);
    leading.insert(leading.end(), registers.begin(), registers.end());
  }
  leading_ = matrix_of(std::move(leading), dim);
  if (output_.final_norm) transformer->set_final_norm(reader.norm("norm", dim));
  transformer_ = std::move(transformer);
  if (output_.facet != Facet::kToken) load_facet(file, names);
}

void Vit::load_facet(const TensorFile& file, const Names& names) {
  const VitReader reader(file, names);
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
  if (facet_weight_.empty()) return nullptr;
  if (projection.rows() != facet_weight_.rows()) {
    throw std::invalid_argument(fmt::format("projection has {} rows, the features have {} columns",
                                            projection.rows(),
                                            facet_weight_.rows()));
  }
  std::unique_ptr<Vit> other(new Vit(*this));
  const auto turned = as_eigen(projection).transpose();
  other->facet_weight_ = to_matrix(turned * as_eigen(facet_weight_));
  other->facet_bias_ = to_vector(turned * as_eigen(facet_bias_));
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
  const int patches = position.rows() - 1;
  as_eigen(*start).topRows(leading_.rows()) = as_eigen(leading_);
  as_eigen(*start).row(0) += as_eigen(position).row(0);  // registers have no position
  as_eigen(*start).bottomRows(patches) =
      as_eigen(position).bottomRows(patches).rowwise() + as_eigen(patch_bias_).transpose();
  starts_->entries.push_front({height, width, start});
  if (starts_->entries.size() > kMostGrids) starts_->entries.pop_back();
  return start;
}

/// Pixels of the patches of some tokens as columns; tokens that are no patch get zeros.
void Vit::read_patches(const Pixels& pixels, int first, int count, int lanes, float* panel) const {
  const int patch = shape_.patch, columns = grid(pixels.width);
  std::memset(panel, 0, sizeof(float) * 3 * patch * patch * lanes);
  for (int t = 0; t < count; ++t) {
    const int index = first + t - leading_.rows();
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
  const int rows = grid(pixels.height), columns = grid(pixels.width);
  transformer_->run(read, *start(rows, columns), row_of, {rows, columns});
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

Preprocessing vit_preprocessing(const VitShape& shape, int stride) {
  Preprocessing result;
  result.normalization = Normalization::kImagenet;
  result.longest_side = shape.layer_scale ? 640 : 320;
  result.multiple = stride;
  result.min_side = 2 * shape.patch;
  return result;
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
    return vit_preprocessing(vit_->shape(), vit_->output().stride);
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

}  // namespace

VitOutput vit_output(const VitShape& shape, const BackboneOptions& options) {
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

std::unique_ptr<Backbone> make_vit(const BackboneWeights& weights, const BackboneOptions& options) {
  const Names names = canonical_vit_names(weights.file);
  if (names.empty()) throw read_error(weights.file.path(), "it holds no vision transformer");
  const VitOutput output = vit_output(vit_shape(weights.file, names), options);
  return std::make_unique<VitBackbone>(
      weights.name,
      weights.sha256,
      std::make_shared<const Vit>(weights.file, output, options.precision));
}

}  // namespace ria
