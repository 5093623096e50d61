// SPDX-License-Identifier: MIT
// NumPy's .npy arrays.
#pragma once

#include <cstdint>
#include <filesystem>

#include "weights/tensor.h"

namespace ria {

/// Versions 1 to 3, either byte and axis order; u2 becomes I32 and u4 becomes I64.
Tensor read_npy(const std::filesystem::path& file);

/// float32, C order; the file appears only when it is whole.
void write_npy(const std::filesystem::path& file,
               const float* values,
               std::int64_t rows,
               std::int64_t cols);

}  // namespace ria
