// SPDX-License-Identifier: MIT
// From pixels to patch features.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ria/features.h"
#include "ria/image.h"

namespace ria {

struct BackboneOptions {
  std::string weights;  ///< weight file; empty: the one in the weight cache
  int stage = 4;  ///< ResNet: 1 = stem, 2..5 = after that stage (4: 1024 channels at stride 16)

  void validate() const;
};

/// Pixels -> PatchFeatures. extract() may be called from many threads at once.
class Backbone {
 public:
  virtual ~Backbone() = default;
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
};

/// Names make_backbone() knows.
std::vector<std::string> backbone_names();

/// Throws std::invalid_argument for an unknown name (listing the known ones) and std::runtime_error
/// for missing or damaged weights (saying how to get them).
std::unique_ptr<Backbone> make_backbone(const std::string& name,
                                        const BackboneOptions& options = {});

/// Limits what the calling thread's layers and matrix products may use; 0: all cores. Work that is
/// spread over pictures gives each of its threads one core.
void set_thread_cores(int cores);

/// Cores of this machine that the process may use, at least 1.
int num_cores();

}  // namespace ria
