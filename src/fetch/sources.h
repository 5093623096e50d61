// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "ria/weights.h"

namespace ria {

/// The row of weight_sources() with this name, or nullptr.
const WeightSource* find_source(const std::string& name);

/// The names of weight_sources() and of what was added to the cache under other names.
std::vector<std::string> known_weights();

/// The command that brings weights of this name into the cache.
std::string how_to_add(const std::string& name);

/// Throws std::invalid_argument unless the name is plain enough for a file.
void check_weights_name(const std::string& name);

}  // namespace ria
