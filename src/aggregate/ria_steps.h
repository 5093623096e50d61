// SPDX-License-Identifier: MIT
// The steps of RIA's head, which RIA-FT takes once for each of its heads. Equation numbers are the
// paper's.
#pragma once

#include "ria/aggregator.h"
#include "ria/eigen.h"

namespace ria {

/// X = X_raw P, equation (1), of the patches as they are or at length one; an empty projection
/// leaves them. `square_sums` are |row|^2.
Matrix ria_project(const Matrix& patches,
                   const EigenVector& square_sums,
                   const Matrix& projection,
                   const RiaOptions& options);

/// C of projected patches, equations (2) to (4).
MatrixD regularized_covariance(const Matrix& x, const RiaOptions& options);

/// The vector of projected patches before it is brought to length one: C, equations (5) to (8) or
/// what the options put in their place, and the isometric vectorisation.
VectorD ria_vector(const Matrix& x, const RiaOptions& options);

}  // namespace ria
