// SPDX-License-Identifier: MIT
// DINO and DINOv2 vision transformers of any size, from published weight files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backbone/backbone_weights.h"
#include "nn/transformer.h"
#include "ria/backbone.h"
#include "ria/image.h"
#include "tensor/tensor.h"
#include "weights/vit_names.h"

namespace ria {

/// What is taken from the network.
struct VitOutput {
  int blocks = 0;               ///< that are run whole
  Facet facet = Facet::kToken;  ///< of the block behind them, unless it is the token
  bool final_norm = false;
  PositionRule position_rule = PositionRule::kHub;
  int stride = 0;  ///< pixels between patches
};

/// The network up to what is asked of it, and no further.
class Vit {
 public:
  Vit(const TensorFile& file, const VitOutput& output, Precision precision);

  /// One row a token: class token, registers, patches in row-major order.
  Matrix tokens(const Pixels& pixels) const;
  /// The same without the registers.
  PatchFeatures features(const Pixels& pixels) const;
  /// The table of positions for a grid.
  Matrix positions(int height, int width) const;
  /// Patches down and across.
  int grid(int pixels) const { return 1 + (pixels - shape_.patch) / output_.stride; }

  /// The same network with its facet multiplied by a matrix of dim() rows; nullptr for tokens.
  std::unique_ptr<Vit> folded(const Matrix& projection) const;

  const VitShape& shape() const { return shape_; }
  const VitOutput& output() const { return output_; }
  int dim() const { return transformer_->output_dim(); }
  double flops(int tokens) const { return transformer_->flops(tokens); }
  /// What the tokens of a grid start from but their pixels: class token and registers, positions,
  /// the embedding's bias.
  std::shared_ptr<const Matrix> start(int height, int width) const;

 private:
  Vit() = default;
  void load(const TensorFile& file, Precision precision);
  void load_facet(const TensorFile& file, const std::map<std::string, std::string>& names);
  void check_size(const Pixels& pixels) const;
  void run(const Pixels& pixels, const Transformer::RowOf& row_of) const;
  void read_patches(const Pixels& pixels, int first, int count, int lanes, float* panel) const;

  VitShape shape_;
  VitOutput output_;
  std::shared_ptr<const Transformer> transformer_;
  Matrix table_;    ///< positions: class token, then grid x grid patches
  Matrix leading_;  ///< class token and registers
  Vector patch_bias_;
  Matrix facet_weight_;  ///< of the facet, to be folded; empty: token
  Vector facet_bias_;
  NormSource facet_norm_;

  // Positions of the last few grids, with everything a token starts from but its pixels.
  struct StartCache;
  std::shared_ptr<StartCache> starts_;
};

/// What the options ask of a network of this shape; unset ones are its own. Throws
/// std::invalid_argument for what it has not.
VitOutput vit_output(const VitShape& shape, const BackboneOptions& options);

/// What a network of this shape reads, with so many pixels between patches.
Preprocessing vit_preprocessing(const VitShape& shape, int stride);

std::unique_ptr<Backbone> make_vit(const BackboneWeights& weights, const BackboneOptions& options);

}  // namespace ria
