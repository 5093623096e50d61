// SPDX-License-Identifier: MIT
// Exact search: every row against every query, in one pass over the rows.
#pragma once

#include <vector>

#include "index/rows.h"
#include "kernel/scan_kernels.h"
#include "ria/map.h"

namespace ria {

/// See Map::search().
std::vector<std::vector<Match>> scan_nearest(const Rows& rows,
                                             const Matrix& queries,
                                             int k,
                                             const SearchOptions& options,
                                             const ScanKernels& kernels = *scan_kernels().front());
/// See Map::scores().
std::vector<Match> scan_all(const Rows& rows,
                            const Matrix& query,
                            const ScanKernels& kernels = *scan_kernels().front());

}  // namespace ria
