// SPDX-License-Identifier: MIT
#pragma once

#include "ria/evaluate.h"

namespace ria {

/// Throws std::invalid_argument unless the right answers of all queries are known.
void check_labels(const Dataset& dataset);

/// Throws std::invalid_argument unless the predictions are of this dataset's queries and places.
void check_predictions(const Dataset& dataset, const Evaluation& evaluation);

}  // namespace ria
