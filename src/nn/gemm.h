// SPDX-License-Identifier: MIT
// Matrix products on oneDNN and BLAS. Row-major throughout.
#pragma once

#include "ria/eigen.h"

namespace ria {

/// A matrix of Eigen's, one of ours seen by as_eigen(), or part of one, whose rows lie further
/// apart than they are long.
using MatrixView = Eigen::Ref<const EigenMatrix, 0, Eigen::OuterStride<>>;
using MatrixViewD = Eigen::Ref<const EigenMatrixD, 0, Eigen::OuterStride<>>;
using MatrixSpan = Eigen::Ref<EigenMatrix, 0, Eigen::OuterStride<>>;

/// a b
EigenMatrix product(const MatrixView& a, const MatrixView& b);
EigenMatrixD product(const MatrixViewD& a, const MatrixViewD& b);

/// c = a b + keep c, on one core.
void multiply(const MatrixView& a, const MatrixView& b, float keep, MatrixSpan c);

/// c = a b for square matrices already allocated: the inner loop of the Newton-Schulz iteration.
void multiply(const MatrixViewD& a, const MatrixViewD& b, EigenMatrixD& c);

/// x^T x, all of it filled.
EigenMatrixD gram(const MatrixViewD& x);

/// |row|^2 for every row.
EigenVector row_square_sums(const MatrixView& x);

}  // namespace ria
