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

/// Places whose codes lie together: byte p of them, for each pair of tables, holds the entry of
/// place p in the first table of the pair (low four bits) and in the second (high four bits).
inline constexpr int kCodeGroup = 64;

struct CodeTask {
  const std::uint8_t* codes;   ///< [pair][kCodeGroup]
  const std::uint8_t* tables;  ///< [pair][2][16], at most 127 each
  int pairs;                   ///< so few that no sum leaves 16 bits
  /// [kCodeGroup]: of each the upper 16 bits of its product with error_factor are added.
  const std::uint16_t* errors;
  std::uint16_t error_factor;
  std::uint16_t* sums;  ///< [kCodeGroup]
};

struct ScanKernels {
  const char* name;
  void (*floats)(const ScanTask& task);
  void (*halves)(const ScanTask& task);
  void (*bytes)(const ScanTask& task);  ///< exact: the same sums on every CPU
  /// What each place's codes find in the tables, added up; returns the largest sum.
  int (*codes)(const CodeTask& task);
};

/// All this CPU runs, best first.
const std::vector<const ScanKernels*>& scan_kernels();

}  // namespace ria
