// SPDX-License-Identifier: MIT
// What every head does with its input first.
#pragma once

#include "nn/gemm.h"
#include "ria/features.h"

namespace ria {

/// |row|^2 for every patch. Throws std::invalid_argument on no patches, another width than
/// expected, NaN, infinity or values whose squares overflow.
EigenVector checked_square_sums(const PatchFeatures& features, int expected_dim);

/// Throws std::invalid_argument unless the patches are a grid: rootsift's of several scales are
/// not.
void check_grid(const PatchFeatures& features);

/// 1 / |row|, 0 for a row of zeros.
EigenVector inverse_norms(const EigenVector& square_sums);

/// Rows of length one; a row of zeros stays zero.
EigenMatrix normalized_rows(const MatrixView& patches);

/// v / |v| in float. Throws std::invalid_argument for a vector of zeros.
Descriptor unit(const EigenVectorD& v);

}  // namespace ria
