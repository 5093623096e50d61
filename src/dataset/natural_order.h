// SPDX-License-Identifier: MIT
// The order the field's ground truth counts pictures in.
#pragma once

#include <string_view>

namespace ria {

/// Runs of digits compare as numbers, what stands between them as text, piece by piece: the order
/// of Python's natsort with its defaults. Names that differ in leading zeros only compare as text.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace ria
