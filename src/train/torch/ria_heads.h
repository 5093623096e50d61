// SPDX-License-Identifier: MIT
// The covariance heads of RIA-FT.
#pragma once

#include "train/torch/ria_root.h"

namespace ria {

class RiaHeads {
 public:
  /// The tensors heads.H.* are shared, not copied. Throws std::invalid_argument naming what is
  /// missing or of another shape.
  /// `half`: what patches are projected in; everything behind is as the tensors are.
  RiaHeads(const NetworkShape& shape, const Tensors& tensors, at::ScalarType half = at::kFloat);

  /// What each head hands to its MLP, in order of their numbers, of patches [count, n, D].
  std::vector<Tensor> vectors(const Tensor& patches) const;
  std::int64_t dim() const;
  /// Unit descriptors, count x dim.
  Tensor descriptors(const Tensor& patches) const;

 private:
  struct Head {
    int d = 0;
    Tensor projection;
    Tensor weight0, bias0, weight2, bias2;  ///< undefined: no such layer
  };
  /// Patches on the directions of all heads, those of one size beside each other.
  Tensor projected(const Tensor& patches) const;
  Tensor finish(const Head& head, const Tensor& vector) const;

  RootOptions root_;
  bool normalize_patches_;
  at::ScalarType half_;
  std::vector<Head> heads_;
  std::vector<std::vector<int>> groups_;  ///< heads of equal d
};

}  // namespace ria
