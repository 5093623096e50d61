// SPDX-License-Identifier: MIT
// Matrix products on BLAS. Row-major throughout.
#pragma once

#include "ria/features.h"

namespace ria {

/// a b
Matrix product(const Matrix& a, const Matrix& b);
MatrixD product(const MatrixD& a, const MatrixD& b);

/// c = a b for square matrices already allocated: the inner loop of the Newton-Schulz iteration.
void multiply(const MatrixD& a, const MatrixD& b, MatrixD& c);

/// x^T x, all of it filled.
MatrixD gram(const MatrixD& x);

/// |row|^2 for every row.
Vector row_square_sums(const Matrix& x);

}  // namespace ria
