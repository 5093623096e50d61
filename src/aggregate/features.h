// SPDX-License-Identifier: MIT
// What every head does with its input first.
#pragma once

#include "ria/features.h"

namespace ria {

/// Throws std::invalid_argument on no patches, another width than expected, NaN or infinity.
void check_features(const PatchFeatures& features, int expected_dim);

/// 1 / |row|, 0 for a row of zeros.
Vector inverse_row_norms(const Matrix& patches);

/// Rows of length one; a row of zeros stays zero.
Matrix normalized_rows(const Matrix& patches);

/// v / |v| in float. Throws std::invalid_argument for a vector of zeros.
Descriptor unit(const VectorD& v);

}  // namespace ria
