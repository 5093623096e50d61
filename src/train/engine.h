// SPDX-License-Identifier: MIT
// What training needs of LibTorch, and all that crosses to the plugin libria-torch.so: a network
// and its heads described by plain values, batches in, losses and tensors out. Nothing here is
// Torch's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ria/backbone.h"
#include "ria/matrix.h"
#include "ria/train.h"

namespace ria {

/// A tensor by the name it has in a RIA-FT file ("backbone.blocks.3.norm1.weight").
struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// A convolution (NAME.weight [out, in, k, k], NAME.bias [out], batch norm folded in) or a pool.
/// Tensor 0 is the picture; step i reads tensor `input` and writes tensor i + 1.
struct ConvLayer {
  std::string name;  ///< of the convolution's tensors; empty: a max-pool (padding is -infinity)
  int input = 0;
  int residual = -1;  ///< tensor added before the ReLU
  bool relu = false;
  int kernel = 1;
  int stride = 1;
  int pad = 0;
};

/// A convolutional network up to its cut; empty steps: the trunk is a transformer.
struct ConvTrunk {
  std::vector<ConvLayer> steps;
};

/// A vision transformer up to the facet that is pooled. Tensors have the names of the published
/// code behind "backbone." (queries, keys and values as one qkv).
struct VitTrunk {
  int dim = 0;
  int heads = 0;
  int hidden = 0;
  int patch = 0;
  int stride = 0;  ///< pixels between patches
  int registers = 0;
  bool gated = false;  ///< SwiGLU
  bool layer_scale = false;
  float eps = 1e-6f;            ///< of the layer norms
  int blocks = 0;               ///< that are run whole
  Facet facet = Facet::kToken;  ///< of the block behind them, unless it is the token
  bool interleaved = false;     ///< facet channels d * heads + h (DINO as AnyLoc reads it)
  bool final_norm = false;
};

/// One covariance head: projection [d, D], covariance to root to vector, then an MLP or none.
struct HeadShape {
  int d = 64;
  int hidden = 0;  ///< of the MLP; 0: one layer only
  int out = 0;     ///< values the MLP leaves; 0: no MLP
};

struct NetworkShape {
  ConvTrunk conv;
  VitTrunk vit;
  /// Where batches enter: 0 is the picture (conv: tensor 0; transformer: pixels). n > 0: tensor n
  /// of the steps, or the tokens in front of block n - 1, as the native engine computes them.
  /// Nothing in front of the entry is held.
  int entry = 0;
  int feature_dim = 0;  ///< D
  bool normalize_patches = true;
  double tau = 1e-5;
  double eps = 1e-4;
  int iterations = 3;
  std::vector<HeadShape> heads;
};

struct EngineOptions {
  std::string device = "cpu";  ///< cpu, cuda or cuda:N
  /// Of the trunk and of the heads' projections: fp32, bf16 or fp16. Everything behind is fp32.
  std::string precision = "fp32";
  int num_threads = 0;  ///< 0: all cores
  double ms_alpha = 1;  ///< multi-similarity loss
  double ms_beta = 50;
  double ms_base = 0;
  double miner_eps = 0.1;        ///< multi-similarity miner; negative: all pairs
  double weight_decay = 9.5e-9;  ///< of AdamW
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_eps = 1e-8;
  double clip_norm = 0;  ///< largest norm of all gradients together; 0: none
  TrainWorkers workers;
};

/// Pictures of one size. `values`: count x 3 x height x width pixels at entry 0; behind it
/// count x height x width x channels (conv), or count x tokens x channels (transformer: class
/// token, registers, patches; height x width is the grid of the patches).
struct TrainBatch {
  int count = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<float> values;
  std::vector<std::int64_t> labels;  ///< of places; not read by embed()
  Matrix positions;  ///< transformer at entry 0: what tokens start from but their pixels (tokens x
                     ///< dim)
};

struct StepResult {
  double loss = 0;               ///< of the whole batch, over all workers
  double gradient_norm = 0;      ///< before clipping
  long long positive_pairs = 0;  ///< mined, over all workers
  long long negative_pairs = 0;
  bool finite = true;  ///< false: loss or gradients were not, and nothing was changed
  Matrix descriptors;  ///< of this worker's pictures, before the step
};

/// Everything a step depends on beside the batch: trained tensors, and their moments as NAME#m and
/// NAME#v.
struct EngineState {
  long long steps = 0;
  std::vector<NamedTensor> tensors;
};

/// One network being trained. Errors are exceptions with one line: std::runtime_error for a lost
/// worker ("worker 1 of 2 was lost: ...") or a full memory, std::invalid_argument for shapes.
class TrainEngine {
 public:
  virtual ~TrainEngine() = default;

  /// Forward, loss over all workers' pictures, backward, sum of gradients over workers, clipping,
  /// one AdamW step. Learning rates: of the trunk's and of the heads' tensors.
  virtual StepResult step(const TrainBatch& batch, double trunk_rate, double head_rate) = 0;
  /// The gradients of the same, without a step (tests).
  virtual std::vector<NamedTensor> gradients(const TrainBatch& batch) = 0;
  /// Unit descriptors, one a row; no gradients are kept.
  virtual Matrix embed(const TrainBatch& batch) = 0;
  /// What each head hands to its MLP (or would), side by side: count x sum of d(d+1)/2.
  virtual Matrix head_vectors(const TrainBatch& batch) = 0;
  /// What the heads pool: count x patches rows of D values.
  virtual Matrix features(const TrainBatch& batch) = 0;

  /// All tensors held, trained or not, as they are now.
  virtual std::vector<NamedTensor> tensors() = 0;
  virtual void set_tensors(const std::vector<NamedTensor>& tensors) = 0;
  virtual EngineState state() = 0;
  virtual void set_state(const EngineState& state) = 0;

  /// Texts of all workers, in order of rank: options are compared so before the first step, and the
  /// ranks wait for each other.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;
  /// Rows of all workers, in order of rank.
  virtual Matrix gather(const Matrix& rows) = 0;
};

/// What libria-torch.so offers.
struct TorchFunctions {
  /// "1.13.1, CPU, Gloo": for config.json and --help.
  std::string (*version)();
  /// `trained`: names of the tensors that are; the rest stays as handed in. Throws
  /// std::invalid_argument for a device, precision or backend this LibTorch has not, in one line.
  std::unique_ptr<TrainEngine> (*make)(const NetworkShape& shape,
                                       const std::vector<NamedTensor>& tensors,
                                       const std::vector<std::string>& trained,
                                       const EngineOptions& options);
  /// Of a loss alone (goldens): value, d loss / d descriptors, mined pairs as a1, p, a2, n.
  struct LossResult {
    double loss = 0;
    MatrixD gradient;
    std::vector<std::vector<std::int64_t>> pairs;
  };
  LossResult (*multi_similarity)(const MatrixD& descriptors,
                                 const std::vector<std::int64_t>& labels,
                                 const EngineOptions& options);
  /// The root and its backward alone in float64 (goldens, gradient checks); see ria_root.h there.
  struct RootResult {
    MatrixD root;
    MatrixD gradient;  ///< of sum(root * weight) by the matrix
  };
  RootResult (*newton_schulz)(const MatrixD& matrix,
                              const MatrixD& weight,
                              int iterations,
                              bool trace);
  /// Heads alone in float64 (gradient checks): sum(descriptor * weight) of one picture's patches,
  /// and its gradients by the patches and by each of the tensors (biases are one row).
  struct HeadResult {
    double value = 0;
    std::vector<MatrixD> gradients;
  };
  HeadResult (*head)(const MatrixD& patches,
                     const NetworkShape& shape,
                     const std::vector<std::pair<std::string, MatrixD>>& tensors,
                     const VectorD& weight);
};

}  // namespace ria
