// SPDX-License-Identifier: MIT
// From a weight file to what LibTorch trains, and back to a RIA-FT file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backbone/backbone_weights.h"
#include "head/ria_ft.h"
#include "ria/image.h"
#include "ria/train.h"
#include "train/engine.h"

namespace ria {

/// A picture where batches enter, as TrainBatch wants it.
struct EntryValues {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<float> values;
};

/// The part of a network in front of the entry, run by the native engine.
class FrozenPart {
 public:
  virtual ~FrozenPart() = default;
  /// May be called from many threads at once.
  virtual EntryValues run(const Pixels& pixels) const = 0;
  /// TrainBatch::positions of pictures of this size in pixels; empty but for a transformer that is
  /// entered with pixels.
  virtual Matrix positions(int height, int width) const;
};

struct TrainNetwork {
  NetworkShape shape;
  std::vector<NamedTensor> tensors;  ///< behind the entry: backbone.* and heads.*
  std::vector<std::string> trained;  ///< names of those that are; empty: nothing is
  std::shared_ptr<const FrozenPart> frozen;
  Preprocessing preprocessing;  ///< the backbone's own: what its pixels mean
  std::string weights_sha256;
  // What a file of it needs beside the tensors.
  RiaFtSettings settings;
  std::shared_ptr<const TensorFile> source;  ///< whole, under published (torchvision) names
  std::map<std::string, std::string> norms;  ///< of a convolution: its batch norm, folded in
};

/// The network of options.backbone, cut in front of the first block that is trained, or entered
/// with pixels. Heads are those of the file where it is a RIA-FT file, else: projection h is
/// random_orthogonal(D, d, seed + h), an MLP is zero until it is set (see linear_mlp()). Throws
/// std::invalid_argument for options the network cannot follow, std::runtime_error for files.
TrainNetwork make_train_network(const TrainOptions& options, bool from_pixels = false);
/// The same of a file that is open.
TrainNetwork make_train_network(const BackboneWeights& weights,
                                const TrainOptions& options,
                                bool from_pixels = false);

/// The tensors of a head's MLP so that it is the linear map `linear` (out x d(d+1)/2) at first:
/// with a hidden layer of twice `out`, [L; -L] and [I, -I], as GELU(x) - GELU(-x) = x; wider ones
/// have small random rows (of the seed) behind these.
std::vector<NamedTensor> linear_mlp(int head,
                                    const HeadShape& shape,
                                    const Matrix& linear,
                                    std::uint32_t seed);

/// Writes a RIA-FT file that --method ria-ft runs: the source with `tensors`, the engine's, in
/// place of its own.
void write_ria_ft(const std::filesystem::path& file,
                  const TrainNetwork& network,
                  const std::vector<NamedTensor>& tensors);

}  // namespace ria
