// SPDX-License-Identifier: MIT
// Dot products of many descriptors with some queries, compiled once for each kind of CPU.
//
// Rows are read once, in the form they are kept in, and widened in registers: with few queries the
// loops wait for the memory and for nothing else. A row's product with a query is the same bits
// whatever stands beside either.
#pragma once

#include <cstdint>
#include <vector>

namespace ria {

/// Rows and queries are `values` long and follow each other without a gap; rows fill whole lines of
/// 64 bytes, aligned to them, and so do queries. Queries are floats, or int16 for rows of int8,
/// small enough that no sum leaves 32 bits.
struct ScanTask {
  const void* rows;
  int row_count;
  const void* queries;
  int query_count;
  int values;
  float* sums;  ///< [query][row]
};

struct ScanKernels {
  const char* name;
  void (*floats)(const ScanTask& task);
  void (*halves)(const ScanTask& task);
  void (*bytes)(const ScanTask& task);  ///< exact: the same sums on every CPU
};

/// All this CPU runs, best first.
const std::vector<const ScanKernels*>& scan_kernels();

}  // namespace ria
