// SPDX-License-Identifier: MIT
// A vision transformer's blocks on panels of tokens (see panel_kernels.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nn/conv_net.h"
#include "nn/layer_source.h"
#include "nn/panel_linear.h"
#include "ria/features.h"

namespace ria {

struct TransformerShape {
  int dim = 0;
  int heads = 0;
  int hidden = 0;      ///< of the feed-forward layer
  bool gated = false;  ///< SwiGLU instead of GELU
  float eps = 1e-6f;   ///< of the layer norms
};

/// factor out(y + grid y), y = relu(in x): a small network trained beside a large one that stays as
/// it was.
struct AdapterSource {
  LinearSource in, out;
  float factor = 1;
  /// Convolutions over the grid of the patches and the tensors of them that, side by side, are
  /// grid y; of tokens that are no patch grid y is y. None: there is no grid y.
  std::vector<ConvStep> grid;
  std::vector<int> grid_outputs;
};

/// x += scale1 (y + adapter1 y), y = proj(attention(qkv(norm1 x)));
/// x += scale2 (down(act(up n)) + adapter2 n), n = norm2 x
struct BlockSource {
  NormSource norm1, norm2;
  std::vector<float> scale1, scale2;  ///< LayerScale; empty: none
  LinearSource qkv, proj;
  LinearSource up;  ///< hidden rows, or twice as many where gated: gate first
  LinearSource down;
  std::optional<AdapterSource> adapter1, adapter2;  ///< in every block or in none
};

/// Patches down and across: the last tokens. Only adapters with a grid ask for it.
struct PatchGrid {
  int height = 0;
  int width = 0;
};

class Transformer {
 public:
  Transformer(const TransformerShape& shape, Precision precision);
  ~Transformer();

  /// Pixels of a patch -> token, without bias: that is part of the positions.
  void set_embedding(const LinearSource& embedding);
  void add_block(const BlockSource& block);
  /// Tokens then leave by a path beside the blocks, which starts where they do: behind each block,
  /// z = y + x and y = z + factor out(gelu(in z)). One adapter for each block, without a grid.
  void add_side(const AdapterSource& adapter);
  /// run() returns the tokens as they leave the last block, or through this norm.
  void set_final_norm(const NormSource& norm);
  /// The same blocks, their tokens returned through a norm and a linear layer (outputs x dim).
  std::unique_ptr<Transformer> with_facet(const NormSource& norm,
                                          const Matrix& weight,
                                          const Vector& bias) const;

  /// Tokens of patches (tokens x pixels of a patch; zero rows for tokens that are no patch) added
  /// to `positions` (tokens x dim), through all blocks. May be called from many threads at once.
  using ReadPatches = std::function<void(int first, int count, int lanes, float* panel)>;
  Matrix run(const ReadPatches& patches, const Matrix& positions) const;
  /// The same into memory of the caller's: output_dim() values of each token go where `row_of`
  /// says, nowhere if that is nullptr. It is called from many threads.
  using RowOf = std::function<float*(int token)>;
  void run(const ReadPatches& patches,
           const Matrix& positions,
           const RowOf& row_of,
           const PatchGrid& grid = {}) const;

  int output_dim() const;
  /// Multiply-adds, counted twice, of one run().
  double flops(int tokens) const;

 private:
  struct Impl;
  explicit Transformer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ria
