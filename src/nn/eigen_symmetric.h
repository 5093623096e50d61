// SPDX-License-Identifier: MIT
#pragma once

#include "ria/features.h"

namespace ria {

struct SymmetricEigen {
  VectorD values;   ///< largest first
  MatrixD vectors;  ///< one a column, of length one
};

/// Turns columns so that the largest entry of each is positive: the sign of an eigenvector is
/// arbitrary.
void fix_signs(MatrixD& columns);

/// The `count` largest eigenvalues of a symmetric matrix and their vectors, by LAPACK.
SymmetricEigen eigen_symmetric(const MatrixD& symmetric, int count);

}  // namespace ria
