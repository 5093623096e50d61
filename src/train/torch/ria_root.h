// SPDX-License-Identifier: MIT
// RIA's steps from projected patches to the vector, with gradients. Equation numbers are the
// paper's. All take float32 or float64.
#pragma once

#include "train/torch/tensors.h"

namespace ria {

struct RootOptions {
  double tau = 1e-5;
  double eps = 1e-4;
  int iterations = 3;
};

/// Equations (5) to (8) of a batch of matrices: A0 = C / ||C||_F (or the trace), K coupled
/// Newton-Schulz steps, times the root of what was divided by.
Tensor newton_schulz_root(const Tensor& matrices, int iterations, bool trace = false);

/// Covariances [m, d, d] of patches [m, n, d], equations (2) to (4).
Tensor recov_covariance(const Tensor& patches, const RootOptions& options);

/// [diagonal, sqrt(2) upper triangle row by row] of [m, d, d].
Tensor vectorize_root(const Tensor& roots);

/// The three one after the other for patches [count, n, heads, d]: [count, heads, d(d+1)/2]. On a
/// CPU one matrix a core with a backward of its own, elsewhere as batched products.
Tensor ria_vectors(const Tensor& patches, const RootOptions& options);

}  // namespace ria
