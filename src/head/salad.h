// SPDX-License-Identifier: MIT
#pragma once

#include "ria/eigen.h"

namespace ria {

/// SALAD's optimal transport: the logarithm of how much of each patch (row) goes to each cluster
/// (column; the last one is the dustbin), after `iterations` rounds of Sinkhorn. Every row sums to
/// one. `scores` has a row for each patch and a column for each cluster. Throws
/// std::invalid_argument unless there are more patches than clusters.
EigenMatrixD sinkhorn_log_plan(const EigenMatrix& scores, double dust_bin, int iterations);

}  // namespace ria
