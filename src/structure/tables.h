// SPDX-License-Identifier: MIT
// The tables that the parts of a reduced descriptor are coded by.
#pragma once

#include <cstdint>

#include "structure/search_file.h"

namespace ria {

/// The entry nearest to each part of what is left of a row once its centre is taken away, into
/// `code` unless that is null, whose bytes are 0 before; returns the square of what the entries
/// leave.
double nearest_entries(const SearchShape& shape,
                       const SearchModel& model,
                       const float* row,
                       std::uint8_t* code);

}  // namespace ria
