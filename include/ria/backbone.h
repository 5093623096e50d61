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

/// How an ONNX file is read. What is left open the file says itself: by its shapes, or by an entry
/// of its metadata under the field's name.
struct RIA_API OnnxOptions {
  std::string onnx_output;  ///< name of the output that is taken; empty: the only one
  /// nchw or nhwc: whether a picture that goes in, and a feature map that comes out, has its
  /// channels first or last. Empty: where the input has 3 channels.
  std::string onnx_layout;
  /// What pixels are: imagenet, unit (0..1), signed (-1..1), clip, caffe (see Normalization), raw
  /// (0..255), or means and deviations of red, green, blue in 0..1, six numbers with blanks
  /// between them. Empty: imagenet.
  std::string onnx_normalization;
  /// Class token and registers in front of the patches of an output [1, tokens, D]. Unset: as many
  /// as leave a grid of square patches.
  std::optional<int> onnx_leading_tokens;
  int onnx_multiple = 0;  ///< pictures are cropped to a multiple of so many pixels; 0: they are not

  void validate() const;  ///< throws std::invalid_argument naming the field
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
  OnnxOptions onnx;         ///< backbone onnx

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Pixels -> PatchFeatures. extract() may be called from many threads at once.
class RIA_API Backbone {
 public:
  virtual ~Backbone();
  /// Of backbone_names(), or onnx.
  virtual std::string name() const = 0;
  /// Columns of the features.
  virtual int dim() const = 0;
  /// Whether extract() gives one row that is the picture's descriptor already.
  virtual bool is_global() const;
  /// What the network was trained to read; a method may change the sizes, not the normalisation.
  /// One that has an exact size reads no other, and one that has none must be told.
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
