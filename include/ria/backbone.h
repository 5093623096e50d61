// SPDX-License-Identifier: MIT
// From pixels to patch features.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/features.h"
#include "ria/image.h"

namespace ria {

/// Arithmetic of a network's large products.
enum class Precision {
  kFp32,
  kInt8,  ///< weights by output channel, activations by token (transformers) or tensor, 32-bit sums
  kBf16,  ///< only where the CPU has bfloat16 instructions
};

/// What a transformer block is asked for.
enum class Facet {
  kToken,  ///< the block's output
  kQuery,  ///< the projections its attention starts with
  kKey,
  kValue,
};

/// How the table of position embeddings is brought to another grid.
enum class PositionRule {
  kHub,  ///< bicubic, source step M / (n + 0.1): the published DINO and DINOv2 code
  kHf,   ///< bicubic to the size: Hugging Face
  kReg,  ///< antialiased bicubic to the size: the published models with registers
};

/// Unset fields mean the backbone's own.
struct RIA_API BackboneOptions {
  std::string weights;  ///< weight file; empty: the one in the weight cache
  /// Where a convolutional network is cut; empty: its own default. ResNet: stem, layer1 to layer4
  /// or one block (layer3.2); VGG: conv5_3 (before its ReLU), relu4_2, pool3 or a torchvision
  /// module number (28).
  std::string cut;
  Precision precision = Precision::kFp32;
  std::optional<int> layer;    ///< transformer: block the facet is taken from, 0 = first
  std::optional<Facet> facet;  ///< transformer
  std::optional<PositionRule> position_rule;  ///< transformer
  int stride = 0;           ///< transformer: pixels between patches; 0: the patch size
  bool final_norm = false;  ///< transformer: last block's tokens through the network's final norm

  void validate() const;
};

/// Pixels -> PatchFeatures. extract() may be called from many threads at once.
class RIA_API Backbone {
 public:
  virtual ~Backbone();
  virtual std::string name() const = 0;
  /// Columns of the features.
  virtual int dim() const = 0;
  /// What the network was trained to read; a method may change the sizes, not the normalisation.
  virtual Preprocessing preprocessing() const = 0;
  /// sha256 of the weight file; empty for a backbone that has none.
  virtual std::string weights_sha256() const = 0;
  virtual PatchFeatures extract(const Pixels& pixels) const = 0;
  /// Multiply-adds, counted twice, of one extract() at this size; 0 where it is not a network.
  virtual double flops(int height, int width) const = 0;
  /// A backbone of the same weights whose features are this one's times `projection` (dim() x d),
  /// where the last layer is linear and can take the matrix in; nullptr elsewhere.
  virtual std::unique_ptr<Backbone> folded(const Matrix& projection) const;
  /// The weights (rows x dim()) with which the network's own next layer reads these features, batch
  /// norm folded in: what it was trained to tell apart. Empty where it ends here, or the file does.
  virtual Matrix reading() const;
};

/// Names make_backbone() knows.
RIA_API std::vector<std::string> backbone_names();

/// Where the convolutional network of this name is cut by default; empty for other backbones.
RIA_API std::string default_cut(const std::string& backbone);

/// Name in weight_sources() of the weights a backbone takes where no file is given; empty: none.
RIA_API std::string default_weights(const std::string& backbone);

/// Throws std::invalid_argument for an unknown name (listing the known ones) and std::runtime_error
/// for missing or damaged weights (saying how to get them).
RIA_API std::unique_ptr<Backbone> make_backbone(const std::string& name,
                                                const BackboneOptions& options = {});

/// Limits what the calling thread's layers and matrix products may use; 0: all cores. Work that is
/// spread over pictures gives each of its threads one core.
RIA_API void set_thread_cores(int cores);

/// Cores of this machine that the process may use, at least 1.
RIA_API int num_cores();

}  // namespace ria
