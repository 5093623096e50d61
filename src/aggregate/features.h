// SPDX-License-Identifier: MIT
// What every head does with its input first.
#pragma once

#include "ria/features.h"

namespace ria {

/// |row|^2 for every patch. Throws std::invalid_argument on no patches, another width than
/// expected, NaN, infinity or values whose squares overflow.
Vector checked_square_sums(const PatchFeatures& features, int expected_dim);

/// 1 / |row|, 0 for a row of zeros.
Vector inverse_norms(const Vector& square_sums);

/// Rows of length one; a row of zeros stays zero.
Matrix normalized_rows(const Matrix& patches);

/// v / |v| in float. Throws std::invalid_argument for a vector of zeros.
Descriptor unit(const VectorD& v);

}  // namespace ria
