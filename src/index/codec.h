// SPDX-License-Identifier: MIT
// Descriptors as they are kept: rows of floats, halves or bytes, each with a scale.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/scan_kernels.h"
#include "ria/map.h"
#include "util/aligned.h"

namespace ria {

/// How a map keeps its descriptors.
struct RowForm {
  Storage storage = Storage::kHalf;
  int dim = 0;

  /// Bytes of a value.
  int value_bytes() const;
  /// Values of a row with the zeros behind them that fill its last 64 bytes.
  int values() const;
  std::size_t row_bytes() const;
  bool operator==(const RowForm&) const = default;
};

/// Some rows, one behind the other.
struct EncodedRows {
  std::vector<std::uint8_t> data;
  std::vector<float> scales;

  int count() const { return static_cast<int>(scales.size()); }
  const std::uint8_t* row(int i, const RowForm& form) const {
    return data.data() + static_cast<std::size_t>(i) * form.row_bytes();
  }
  /// Row i of others, behind the last.
  void append(const EncodedRows& others, int i, const RowForm& form) {
    data.insert(data.end(), others.row(i, form), others.row(i + 1, form));
    scales.push_back(others.scales[static_cast<std::size_t>(i)]);
  }
};

EncodedRows encode(const Matrix& descriptors, const RowForm& form);
/// What a row stands for; `out` has form.dim values.
void decode(const std::uint8_t* row, float scale, const RowForm& form, std::span<float> out);
Matrix decode(const EncodedRows& rows, const RowForm& form);
EncodedRows convert(EncodedRows rows, const RowForm& from, const RowForm& to);

/// Queries in the form the kernel of such rows takes.
struct EncodedQueries {
  EncodedQueries(const Matrix& queries, const RowForm& form);
  const void* at(int query) const;

  AlignedBuffer<std::uint8_t> data;
  std::vector<float> scales;
  std::size_t query_bytes;
};

using ScanFunction = void (*)(const ScanTask&);
ScanFunction scan_function(const ScanKernels& kernels, Storage storage);

}  // namespace ria
