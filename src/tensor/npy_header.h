// SPDX-License-Identifier: MIT
// The first part of a .npy array: what its values are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ria {

struct NpyHeader {
  std::string descr;  ///< "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t start = 0;  ///< of the values
};

NpyHeader read_npy_header(const std::filesystem::path& file, std::span<const std::uint8_t> bytes);

/// True for <U, |S and |O: nothing a tensor holds.
bool is_text_or_objects(const NpyHeader& header);

/// Puts items of `item` bytes that are stored column by column (Fortran, MATLAB) row by row.
/// `from` holds the product of the shape many items.
std::vector<std::uint8_t> row_major(std::span<const std::uint8_t> from,
                                    const std::vector<std::int64_t>& shape,
                                    std::size_t item);

}  // namespace ria
