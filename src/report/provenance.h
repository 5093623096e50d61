// SPDX-License-Identifier: MIT
// How the figures came about: command, version, options and weights of each method.
#pragma once

#include <string>
#include <vector>

#include "ria/dataset.h"
#include "ria/evaluate.h"

namespace ria {

std::string provenance_html(const Dataset& dataset,
                            const std::vector<Evaluation>& evaluations,
                            const std::string& command);

}  // namespace ria
