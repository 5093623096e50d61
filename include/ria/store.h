// SPDX-License-Identifier: MIT
// Descriptor files that other tools read.
#pragma once

#include <filesystem>
#include <string>

#include "ria/recognizer.h"

namespace ria {

/// x.npy: float32 rows, with x.names.txt (one picture a line, the order of the rows) and x.json
/// (method, options, weights' sha256, version). x.h5: hloc's layout, /<name>/global_descriptor and
/// image_size, the record as attributes of the root. Throws std::invalid_argument for another
/// ending. Each file is written whole or not at all.
void save_descriptors(const std::filesystem::path& file,
                      const Descriptions& descriptions,
                      const IndexHeader& header);

}  // namespace ria
