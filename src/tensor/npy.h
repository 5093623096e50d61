// SPDX-License-Identifier: MIT
// NumPy's .npy arrays of numbers and .npz archives of them; npy_objects.h has the other arrays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "archive/bytes.h"
#include "archive/zip.h"
#include "tensor/tensor.h"
#include "util/files.h"

namespace ria {

/// Versions 1 to 3, either byte and axis order; u2 becomes I32 and u4 becomes I64.
Tensor read_npy(const std::filesystem::path& file);
/// The same for bytes that lie in `mapping`; `file` is only named in errors.
Tensor read_npy(const std::filesystem::path& file,
                std::span<const std::uint8_t> bytes,
                const std::shared_ptr<const MappedFile>& mapping);

/// The numeric arrays of an archive under their names; arrays of text and objects are skipped.
TensorFile read_npz(const std::filesystem::path& file,
                    const std::shared_ptr<const MappedFile>& mapping,
                    const ZipMembers& members);

/// What stands before the values of a float32 array in C order.
std::string npy_prefix(std::int64_t rows, std::int64_t cols);

/// float32, C order, into a file that the caller commits.
void write_npy(AtomicFile& file, const float* values, std::int64_t rows, std::int64_t cols);

/// The same in one call: the file appears only when it is whole.
void write_npy(const std::filesystem::path& file,
               const float* values,
               std::int64_t rows,
               std::int64_t cols);

}  // namespace ria
