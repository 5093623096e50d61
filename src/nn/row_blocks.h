// SPDX-License-Identifier: MIT
// Work that is split by rows the same way for any number of cores, so that the same picture gives
// the same bits on all of them.
#pragma once

#include <functional>

#include "nn/gemm.h"

namespace ria {

/// Calls body(first row, rows) for every block of at most `block` rows, side by side on the cores
/// the calling thread may use. Inside, products run on one core. The first exception is thrown
/// here.
void for_row_blocks(Eigen::Index rows,
                    Eigen::Index block,
                    const std::function<void(Eigen::Index first, Eigen::Index count)>& body);

/// w x, each row read once. For large matrices: bound by memory.
EigenVector times_vector(const MatrixView& w, const EigenVector& x);

/// w^T x, without turning w over.
EigenVector transposed_times_vector(const MatrixView& w, const EigenVector& x);

}  // namespace ria
