// SPDX-License-Identifier: MIT
// Descriptor files that other tools read.
#pragma once

#include <filesystem>
#include <string>

#include "ria/api.h"
#include "ria/recognizer.h"

namespace ria {

/// x.npy: float32 rows, with x.names.txt (one picture a line, the order of the rows) and x.json
/// (method, options, weights' sha256, version). x.h5: hloc's layout, /<name>/global_descriptor and
/// image_size, the record as attributes of the root. Throws std::invalid_argument for another
/// ending, std::runtime_error if HDF5 is not installed. Each file is written whole or not at all.
RIA_API void save_descriptors(const std::filesystem::path& file,
                              const Descriptions& descriptions,
                              const MapHeader& header);

/// Throws what save_descriptors() would throw for this name, before hours of work are spent on the
/// descriptors: the ending, a folder that cannot be written to, HDF5 that is not installed.
RIA_API void check_descriptor_file(const std::filesystem::path& file);

}  // namespace ria
