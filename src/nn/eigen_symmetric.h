// SPDX-License-Identifier: MIT
#pragma once

#include "ria/eigen.h"

namespace ria {

struct SymmetricEigen {
  EigenVectorD values;   ///< largest first
  EigenMatrixD vectors;  ///< one a column, of length one
};

/// Turns columns so that the largest entry of each is positive: the sign of an eigenvector is
/// arbitrary.
void fix_signs(EigenMatrixD& columns);

/// All eigenvalues of a symmetric matrix and their vectors, by divide and conquer on one core: the
/// same bits whatever the caller may use.
SymmetricEigen eigen_symmetric(const EigenMatrixD& symmetric);

/// The `count` largest eigenvalues of a symmetric matrix and their vectors, by LAPACK.
SymmetricEigen eigen_symmetric(const EigenMatrixD& symmetric, int count);

}  // namespace ria
