// SPDX-License-Identifier: MIT
// A network from where batches enter to the patches that are pooled.
#pragma once

#include <memory>

#include "train/torch/tensors.h"

namespace ria {

class Trunk {
 public:
  virtual ~Trunk() = default;
  /// count x patches x D. What lies in front of the first trained tensor records no graph.
  virtual Tensor features(const TrainBatch& batch, const at::Device& device) const = 0;
};

/// The tensors are shared, not copied: they change as they are trained. Throws
/// std::invalid_argument naming what is missing.
std::unique_ptr<Trunk> make_trunk(const NetworkShape& shape, const Tensors& tensors);

}  // namespace ria
